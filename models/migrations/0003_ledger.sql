-- The ledger: jobs, tokens and cost, reserved, used and overrun, per user's day, user's month and, for the
-- platform's key, UTC day (contract: limits.md). `used - overrun + reserved <= limit` holds at every instant
-- since nothing is reserved but by a conditional UPDATE (ledger_take), and what is spent beyond a
-- reservation is overrun. Locks are taken in the order reservation, user's day, month, platform's day: the
-- row that all users share is touched last.
-- A refusal is an exception AJ001 whose message is the API's code: nothing of what led to it stays.

CREATE FUNCTION ledger_zone(settings user_ai_settings) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN settings.next_time_zone_at <= now() THEN settings.next_time_zone
                ELSE settings.time_zone END
$$;

-- The day rows of now for a user: local date, local month, UTC date.
CREATE FUNCTION ledger_today(whose uuid, OUT user_date date, OUT month date, OUT platform_date date)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    zone text := coalesce((SELECT ledger_zone(s) FROM user_ai_settings s WHERE s.user_id = whose), 'UTC');
BEGIN
    user_date := (now() AT TIME ZONE zone)::date;
    month := date_trunc('month', user_date)::date;
    platform_date := (now() AT TIME ZONE 'UTC')::date;
END $$;

-- Adds to the rows that `home` names, whatever the limits: bookings of what has happened.
CREATE FUNCTION ledger_book(home ai_job_reservation, d_jobs integer, d_tokens_reserved bigint,
    d_tokens_used bigint, d_tokens_overrun bigint, d_cost_reserved bigint, d_cost_used bigint,
    d_cost_overrun bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE user_ai_usage_daily
    SET jobs = jobs + d_jobs, tokens_reserved = tokens_reserved + d_tokens_reserved,
        tokens_used = tokens_used + d_tokens_used, tokens_overrun = tokens_overrun + d_tokens_overrun,
        cost_reserved = cost_reserved + d_cost_reserved, cost_used = cost_used + d_cost_used,
        cost_overrun = cost_overrun + d_cost_overrun
    WHERE user_id = home.user_id AND local_date = home.user_date
      AND credential_mode = home.credential_mode;
    UPDATE user_ai_usage_monthly
    SET jobs = jobs + d_jobs, tokens_reserved = tokens_reserved + d_tokens_reserved,
        tokens_used = tokens_used + d_tokens_used, tokens_overrun = tokens_overrun + d_tokens_overrun,
        cost_reserved = cost_reserved + d_cost_reserved, cost_used = cost_used + d_cost_used,
        cost_overrun = cost_overrun + d_cost_overrun
    WHERE user_id = home.user_id AND month = home.month
      AND credential_mode = home.credential_mode;
    IF home.credential_mode = 'platform_key' THEN
        UPDATE platform_usage_daily
        SET jobs = jobs + d_jobs, tokens_reserved = tokens_reserved + d_tokens_reserved,
            tokens_used = tokens_used + d_tokens_used, tokens_overrun = tokens_overrun + d_tokens_overrun,
            cost_reserved = cost_reserved + d_cost_reserved, cost_used = cost_used + d_cost_used,
            cost_overrun = cost_overrun + d_cost_overrun
        WHERE utc_date = home.platform_date;
    END IF;
END $$;

-- Reserves in the rows that `home` names, or refuses. Each row is made as zero first and then updated under
-- a condition: a condition on the insert would let parallel first requests through. A user
-- is told of their own limits first.
CREATE FUNCTION ledger_take(home ai_job_reservation, new_jobs integer, new_tokens bigint,
    new_cost bigint, platform_tokens bigint, platform_cost bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    limits user_ai_settings;
    refusal text;
BEGIN
    SELECT * INTO limits FROM user_ai_settings WHERE user_id = home.user_id;
    INSERT INTO user_ai_usage_daily (user_id, local_date, credential_mode)
    VALUES (home.user_id, home.user_date, home.credential_mode) ON CONFLICT DO NOTHING;
    UPDATE user_ai_usage_daily
    SET jobs = jobs + new_jobs, tokens_reserved = tokens_reserved + new_tokens,
        cost_reserved = cost_reserved + new_cost
    WHERE user_id = home.user_id AND local_date = home.user_date
      AND credential_mode = home.credential_mode
      AND (new_jobs = 0 OR jobs + new_jobs <= limits.max_daily_ai_jobs)
      AND tokens_used - tokens_overrun + tokens_reserved + new_tokens <= limits.max_daily_token_budget;
    IF NOT FOUND THEN
        SELECT CASE WHEN new_jobs > 0 AND jobs + new_jobs > limits.max_daily_ai_jobs
                    THEN 'DAILY_JOB_LIMIT_EXCEEDED' ELSE 'DAILY_TOKEN_BUDGET_EXCEEDED' END
        INTO refusal FROM user_ai_usage_daily
        WHERE user_id = home.user_id AND local_date = home.user_date
          AND credential_mode = home.credential_mode;
        RAISE EXCEPTION '%', refusal USING ERRCODE = 'AJ001';
    END IF;

    INSERT INTO user_ai_usage_monthly (user_id, month, credential_mode)
    VALUES (home.user_id, home.month, home.credential_mode) ON CONFLICT DO NOTHING;
    UPDATE user_ai_usage_monthly
    SET jobs = jobs + new_jobs, tokens_reserved = tokens_reserved + new_tokens,
        cost_reserved = cost_reserved + new_cost
    WHERE user_id = home.user_id AND month = home.month AND credential_mode = home.credential_mode
      AND (limits.monthly_token_quota IS NULL
           OR tokens_used - tokens_overrun + tokens_reserved + new_tokens <= limits.monthly_token_quota);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'QUOTA_EXCEEDED' USING ERRCODE = 'AJ001';
    END IF;

    IF home.credential_mode = 'platform_key' THEN
        INSERT INTO platform_usage_daily (utc_date) VALUES (home.platform_date) ON CONFLICT DO NOTHING;
        UPDATE platform_usage_daily
        SET jobs = jobs + new_jobs, tokens_reserved = tokens_reserved + new_tokens,
            cost_reserved = cost_reserved + new_cost
        WHERE utc_date = home.platform_date
          AND tokens_used - tokens_overrun + tokens_reserved + new_tokens <= platform_tokens
          AND cost_used - cost_overrun + cost_reserved + new_cost <= platform_cost;
        IF NOT FOUND THEN
            SELECT CASE WHEN tokens_used - tokens_overrun + tokens_reserved + new_tokens > platform_tokens
                        THEN 'PLATFORM_TOKEN_BUDGET_EXCEEDED' ELSE 'PLATFORM_COST_BUDGET_EXCEEDED' END
            INTO refusal FROM platform_usage_daily WHERE utc_date = home.platform_date;
            RAISE EXCEPTION '%', refusal USING ERRCODE = 'AJ001';
        END IF;
    END IF;
END $$;

-- A new job's reservation: one job and the bound of one call, in the rows of today.
CREATE FUNCTION ledger_reserve(job uuid, new_tokens bigint, new_cost bigint, platform_tokens bigint,
    platform_cost bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    home ai_job_reservation;
BEGIN
    INSERT INTO ai_job_reservation (job_id, user_id, user_date, month, platform_date, credential_mode,
                                    jobs, tokens, cost_micro_usd)
    SELECT ai_job.id, ai_job.user_id, today.user_date, today.month, today.platform_date,
           ai_job.credential_mode, 1, new_tokens, new_cost
    FROM ai_job CROSS JOIN LATERAL ledger_today(ai_job.user_id) today
    WHERE ai_job.id = job
    RETURNING * INTO STRICT home;
    PERFORM ledger_take(home, 1, new_tokens, new_cost, platform_tokens, platform_cost);
END $$;

-- What the calls of a job have cost that are charged to the rows of `home`: a call that has not ended, and
-- one that nobody counted, stands at its bound.
CREATE FUNCTION ledger_spent(home ai_job_reservation, OUT tokens bigint, OUT cost bigint)
LANGUAGE sql AS $$
    SELECT coalesce(sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)), 0)::bigint,
           coalesce(sum(coalesce(cost_micro_usd, 0)), 0)::bigint
    FROM ai_usage_log
    WHERE job_id = home.job_id AND user_date = home.user_date AND month = home.month
      AND platform_date = home.platform_date
$$;

-- What a reservation held is released, what was spent is used, and what was spent beyond it is overrun.
CREATE FUNCTION ledger_close(home ai_job_reservation, spent_tokens bigint, spent_cost bigint,
    jobs_back integer) RETURNS void LANGUAGE sql AS $$
    SELECT ledger_book(home, -jobs_back,
        -home.tokens, spent_tokens, greatest(0, spent_tokens - home.tokens),
        -home.cost_micro_usd, spent_cost, greatest(0, spent_cost - home.cost_micro_usd))
$$;

-- Before a call, whose row stands in the journal at its bound: the reservation covers everything spent and
-- this call, or the call is refused. A day that has no room any more is left for today: what was spent
-- stays there, and the reservation moves.
CREATE FUNCTION ledger_raise(the_call uuid, platform_tokens bigint, platform_cost bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    call ai_usage_log;
    home ai_job_reservation;
    moved ai_job_reservation;
    spent record;
BEGIN
    SELECT * INTO STRICT call FROM ai_usage_log WHERE id = the_call;
    SELECT * INTO home FROM ai_job_reservation WHERE job_id = call.job_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    SELECT * INTO spent FROM ledger_spent(home);
    IF spent.tokens <= home.tokens AND spent.cost <= home.cost_micro_usd THEN
        RETURN;
    END IF;
    BEGIN
        PERFORM ledger_take(home, 0, greatest(0, spent.tokens - home.tokens),
            greatest(0, spent.cost - home.cost_micro_usd), platform_tokens, platform_cost);
        UPDATE ai_job_reservation
        SET tokens = greatest(tokens, spent.tokens), cost_micro_usd = greatest(cost_micro_usd, spent.cost)
        WHERE job_id = home.job_id;
        RETURN;
    EXCEPTION WHEN SQLSTATE 'AJ001' THEN
        moved := home;
        SELECT today.user_date, today.month, today.platform_date
        INTO moved.user_date, moved.month, moved.platform_date
        FROM ledger_today(home.user_id) today;
        IF moved = home OR moved.user_date < home.user_date THEN
            RAISE;  -- a new time zone can put a user's day back, to rows that are booked already
        END IF;
    END;
    moved.jobs := 0;
    moved.tokens := coalesce(call.input_tokens, 0) + coalesce(call.output_tokens, 0);
    moved.cost_micro_usd := coalesce(call.cost_micro_usd, 0);
    PERFORM ledger_close(home, spent.tokens - moved.tokens, spent.cost - moved.cost_micro_usd, 0);
    PERFORM ledger_take(moved, 0, moved.tokens, moved.cost_micro_usd, platform_tokens, platform_cost);
    UPDATE ai_job_reservation
    SET user_date = moved.user_date, month = moved.month, platform_date = moved.platform_date,
        jobs = 0, tokens = moved.tokens, cost_micro_usd = moved.cost_micro_usd
    WHERE job_id = home.job_id;
    UPDATE ai_usage_log
    SET user_date = moved.user_date, month = moved.month, platform_date = moved.platform_date
    WHERE id = the_call;
END $$;

-- Settlement, when a job ends: no edge can forget it. Deferred to the commit, so that the rows that all
-- jobs share are locked last and shortest. A job never claimed gives its job count back. The reservation
-- shrinks to what was spent: the rest may be another job's a moment later, so a late bill cannot count on it.
CREATE FUNCTION ledger_settle() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    home ai_job_reservation;
    spent record;
BEGIN
    SELECT * INTO home FROM ai_job_reservation
    WHERE job_id = NEW.id AND settled_at IS NULL FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    SELECT * INTO spent FROM ledger_spent(home);
    UPDATE ai_job_reservation
    SET settled_at = now(), tokens_booked = spent.tokens, cost_booked = spent.cost,
        tokens = least(tokens, spent.tokens), cost_micro_usd = least(cost_micro_usd, spent.cost)
    WHERE job_id = home.job_id;
    PERFORM ledger_close(home, spent.tokens, spent.cost,
                         CASE WHEN NEW.attempt_no = 0 THEN home.jobs ELSE 0 END);
    RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER ai_job_settled AFTER UPDATE OF finished_at ON ai_job
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.finished_at IS NULL AND NEW.finished_at IS NOT NULL)
    EXECUTE FUNCTION ledger_settle();

-- A late bill: a call's cost becomes known after its job was settled, or after its reservation has moved to
-- another day. The reservation is locked before it is looked at, so that a settlement under way and a bill
-- beside it cannot both miss the difference.
CREATE FUNCTION ledger_bill() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    home ai_job_reservation;
    spent record;
    d_tokens bigint;
    d_cost bigint;
BEGIN
    SELECT * INTO home FROM ai_job_reservation WHERE job_id = NEW.job_id FOR NO KEY UPDATE;
    IF NOT FOUND OR NEW.user_date IS NULL THEN
        RETURN NULL;
    END IF;
    IF (NEW.user_date, NEW.month, NEW.platform_date)
            = (home.user_date, home.month, home.platform_date) THEN
        IF home.settled_at IS NULL THEN
            RETURN NULL;  -- the settlement will count it
        END IF;
        SELECT * INTO spent FROM ledger_spent(home);
        UPDATE ai_job_reservation
        SET tokens_booked = spent.tokens, cost_booked = spent.cost,
            tokens = least(tokens, spent.tokens), cost_micro_usd = least(cost_micro_usd, spent.cost)
        WHERE job_id = home.job_id;
        PERFORM ledger_book(home, 0,
            0, spent.tokens - home.tokens_booked,
            greatest(0, spent.tokens - home.tokens) - greatest(0, home.tokens_booked - home.tokens),
            0, spent.cost - home.cost_booked,
            greatest(0, spent.cost - home.cost_micro_usd)
            - greatest(0, home.cost_booked - home.cost_micro_usd));
        RETURN NULL;
    END IF;
    d_tokens := coalesce(NEW.input_tokens, 0) + coalesce(NEW.output_tokens, 0);
    d_cost := coalesce(NEW.cost_micro_usd, 0);
    IF TG_OP = 'UPDATE' THEN
        d_tokens := d_tokens - coalesce(OLD.input_tokens, 0) - coalesce(OLD.output_tokens, 0);
        d_cost := d_cost - coalesce(OLD.cost_micro_usd, 0);
    END IF;
    home.user_date := NEW.user_date;
    home.month := NEW.month;
    home.platform_date := NEW.platform_date;
    PERFORM ledger_book(home, 0, 0, d_tokens, greatest(0, d_tokens), 0, d_cost, greatest(0, d_cost));
    RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER ai_usage_log_billed
    AFTER UPDATE OF input_tokens, output_tokens, cost_micro_usd ON ai_usage_log
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN ((OLD.input_tokens, OLD.output_tokens, OLD.cost_micro_usd)
                       IS DISTINCT FROM (NEW.input_tokens, NEW.output_tokens, NEW.cost_micro_usd))
    EXECUTE FUNCTION ledger_bill();

CREATE CONSTRAINT TRIGGER ai_usage_log_reported AFTER INSERT ON ai_usage_log
    DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (NEW.state <> 'started')
    EXECUTE FUNCTION ledger_bill();

-- The gate of POST /jobs: the user's settings, made with defaults and locked in one statement, so that what
-- is decided next is decided by one request of the user at a time; then, as of that lock, how many of the
-- user's jobs are under way, counted up to the limit. Jobs that wait for others do not count, but whether they
-- do is looked at only where it matters. And whether any circuit is not closed.
CREATE FUNCTION user_gate(whose uuid, daily_jobs integer, daily_tokens bigint, monthly_tokens bigint,
    active integer, OUT ai_enabled boolean, OUT max_active_jobs integer, OUT active_jobs integer,
    OUT circuit_trouble boolean)
LANGUAGE plpgsql AS $$
DECLARE
    settings user_ai_settings;
BEGIN
    INSERT INTO user_ai_settings AS mine (user_id, max_daily_ai_jobs, max_daily_token_budget,
                                          monthly_token_quota, max_active_jobs)
    VALUES (whose, daily_jobs, daily_tokens, monthly_tokens, active)
    ON CONFLICT (user_id) DO UPDATE SET user_id = excluded.user_id
    RETURNING * INTO settings;
    ai_enabled := settings.ai_enabled;
    max_active_jobs := settings.max_active_jobs;
    circuit_trouble := EXISTS (SELECT FROM platform_circuit c WHERE c.state <> 'closed');
    SELECT count(*) INTO active_jobs FROM (
        SELECT FROM ai_job job
        WHERE job.user_id = whose
          AND job.lifecycle_status NOT IN ('cancelled', 'failed', 'succeeded')
        LIMIT settings.max_active_jobs) unfinished;
    IF active_jobs < settings.max_active_jobs THEN
        RETURN;
    END IF;
    SELECT count(*) INTO active_jobs FROM (
        SELECT FROM ai_job job
        WHERE job.user_id = whose
          AND job.lifecycle_status NOT IN ('cancelled', 'failed', 'succeeded')
          AND NOT EXISTS (
              SELECT FROM ai_job_dependency dependency
              JOIN ai_job parent ON parent.id = dependency.after_job_id
              WHERE dependency.job_id = job.id AND parent.lifecycle_status <> 'succeeded')
        LIMIT settings.max_active_jobs) under_way;
END $$;
