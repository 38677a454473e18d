-- Made by `python -m tests.dump_schema`; never edited.
CREATE FUNCTION public.ai_job_guard() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    same ai_job;
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.lifecycle_status <> 'queued' OR NEW.attempt_no <> 0 THEN
            RAISE EXCEPTION 'a job begins queued and unattempted, not % at attempt %',
                NEW.lifecycle_status, NEW.attempt_no
                USING ERRCODE = 'check_violation', CONSTRAINT = 'ai_job_begins_queued';
        END IF;
    ELSIF OLD.lifecycle_status IN ('succeeded', 'failed', 'cancelled') THEN
        same := NEW;
        same.status := OLD.status;  -- generated after this trigger
        same.completed_at := OLD.completed_at;
        IF same IS DISTINCT FROM OLD OR OLD.completed_at IS NOT NULL THEN
            RAISE EXCEPTION 'job % has ended: only completed_at may still be set', OLD.id
                USING ERRCODE = 'check_violation', CONSTRAINT = 'ai_job_terminal_frozen';
        END IF;
        RETURN NEW;
    ELSE
        IF NEW.id <> OLD.id OR NEW.attempt_no < OLD.attempt_no OR NEW.retry_count < OLD.retry_count THEN
            RAISE EXCEPTION 'job %: identity, attempt_no and retry_count never shrink or change', OLD.id
                USING ERRCODE = 'check_violation', CONSTRAINT = 'ai_job_counters_grow';
        END IF;
        IF NEW.lifecycle_status <> OLD.lifecycle_status
           AND (OLD.lifecycle_status || '>' || NEW.lifecycle_status) NOT IN (
                'queued>running', 'queued>locked', 'queued>cancelled', 'queued>failed',
                'locked>running', 'locked>succeeded', 'locked>failed', 'locked>queued',
                'locked>expired', 'locked>cancelled',
                'running>succeeded', 'running>failed', 'running>queued', 'running>expired',
                'running>cancelled',
                'expired>queued', 'expired>failed', 'expired>cancelled') THEN
            RAISE EXCEPTION 'job %: no transition leads from % to %',
                OLD.id, OLD.lifecycle_status, NEW.lifecycle_status
                USING ERRCODE = 'check_violation', CONSTRAINT = 'ai_job_transition_listed';
        END IF;
        IF (NEW.attempt_no <> OLD.attempt_no) <> (OLD.lifecycle_status = 'queued'
                AND NEW.lifecycle_status IN ('running', 'locked')) THEN
            RAISE EXCEPTION 'job %: a claim and nothing else begins an attempt', OLD.id
                USING ERRCODE = 'check_violation', CONSTRAINT = 'ai_job_attempt_per_claim';
        END IF;
    END IF;
    NEW.rank_at := NEW.available_at + NEW.priority * interval '60 seconds';
    NEW.updated_at := now();
    RETURN NEW;
END $$;

CREATE FUNCTION public.circuit_admission(routes jsonb, the_type text) RETURNS text
    LANGUAGE plpgsql
    AS $$
DECLARE
    refusal text := 'PLATFORM_CIRCUIT_OPEN';
    route jsonb;
    circuit platform_circuit;
    waiting bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM platform_circuit c WHERE c.state <> 'closed') THEN
        RETURN NULL;
    END IF;
    FOR route IN SELECT value FROM jsonb_array_elements(routes -> the_type) LOOP
        SELECT * INTO circuit FROM platform_circuit c
        WHERE c.provider = route ->> 0 AND c.model = route ->> 1 AND c.state <> 'closed'
        FOR UPDATE;
        IF NOT FOUND OR circuit.state = 'closed' THEN
            RETURN NULL;
        END IF;
        IF circuit.state = 'half_open' THEN
            SELECT count(*) INTO waiting FROM (
                SELECT FROM ai_job job
                WHERE job.lifecycle_status NOT IN ('cancelled', 'failed', 'succeeded')
                  AND job.credential_mode = 'platform_key'
                  AND CASE WHEN job.lifecycle_status = 'queued' THEN
                      job.available_at <= clock_timestamp()
                      AND routes -> job.job_type @> jsonb_build_array(route)
                      AND NOT EXISTS (
                          SELECT FROM queue_control control
                          WHERE control.queue_name = job.queue_name AND control.paused_at IS NOT NULL)
                      AND NOT EXISTS (
                          SELECT FROM ai_job_dependency dependency
                          JOIN ai_job parent ON parent.id = dependency.after_job_id
                          WHERE dependency.job_id = job.id AND parent.lifecycle_status <> 'succeeded')
                  ELSE
                      job.lock_until > clock_timestamp() AND job.circuit_epoch = circuit.epoch
                      AND job.model_provider = circuit.provider AND job.model_name = circuit.model
                  END
                LIMIT circuit.probes) could_probe;
            IF waiting < circuit.probes THEN
                RETURN NULL;
            END IF;
            refusal := 'PLATFORM_CIRCUIT_HALF_OPEN';
        END IF;
    END LOOP;
    RETURN refusal;
END $$;

CREATE TABLE public.platform_circuit (
    provider text NOT NULL,
    model text NOT NULL,
    state text DEFAULT 'closed'::text NOT NULL,
    epoch integer DEFAULT 0 NOT NULL,
    consecutive_failures integer DEFAULT 0 NOT NULL,
    cause text,
    probes integer DEFAULT 0 NOT NULL,
    opened_at timestamp with time zone,
    half_open_at timestamp with time zone,
    next_probe_at timestamp with time zone,
    changed_at timestamp with time zone DEFAULT now() NOT NULL,
    changed_by text DEFAULT 'engine'::text NOT NULL,
    CONSTRAINT platform_circuit_state_known CHECK ((state = ANY (ARRAY['closed'::text, 'open'::text, 'half_open'::text])))
);

CREATE FUNCTION public.circuit_change(now_is public.platform_circuit, to_state text, why text, who text, open_seconds double precision, most_probes integer) RETURNS public.platform_circuit
    LANGUAGE plpgsql
    AS $$
DECLARE
    then_is platform_circuit;
BEGIN
    UPDATE platform_circuit
    SET state = to_state, epoch = epoch + 1, cause = why, changed_at = now(), changed_by = who,
        consecutive_failures = CASE to_state WHEN 'closed' THEN 0 ELSE consecutive_failures END,
        probes = CASE to_state WHEN 'half_open' THEN most_probes ELSE 0 END,
        opened_at = CASE WHEN to_state = 'closed' THEN NULL
                         WHEN to_state = 'open' AND now_is.state <> 'open' THEN now() ELSE opened_at END,
        half_open_at = CASE to_state WHEN 'half_open' THEN now() END,
        next_probe_at = CASE to_state
            WHEN 'open' THEN now() + open_seconds * interval '1 second' END
    WHERE provider = now_is.provider AND model = now_is.model
    RETURNING * INTO STRICT then_is;
    INSERT INTO admin_audit (who, what, target, before, after)
    VALUES (who, 'circuit.' || to_state, now_is.provider || '/' || now_is.model,
            jsonb_build_object('state', now_is.state, 'epoch', now_is.epoch, 'cause', now_is.cause,
                               'consecutiveFailures', now_is.consecutive_failures),
            jsonb_build_object('state', then_is.state, 'epoch', then_is.epoch, 'cause', then_is.cause));
    RETURN then_is;
END $$;

CREATE FUNCTION public.circuit_pass(mode text, the_provider text, the_model text, ticket integer) RETURNS integer
    LANGUAGE plpgsql
    AS $$
DECLARE
    circuit platform_circuit;
BEGIN
    IF mode <> 'platform_key' THEN
        RETURN NULL;
    END IF;
    SELECT * INTO circuit FROM platform_circuit c WHERE c.provider = the_provider AND c.model = the_model;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    IF circuit.state = 'closed' OR (circuit.state = 'half_open' AND ticket = circuit.epoch) THEN
        RETURN circuit.epoch;
    END IF;
    RAISE EXCEPTION 'circuit % of %/%', circuit.state, the_provider, the_model USING ERRCODE = 'AJ002';
END $$;

CREATE FUNCTION public.circuit_probe_due(who text, most_probes integer) RETURNS integer
    LANGUAGE plpgsql
    AS $$
DECLARE
    circuit platform_circuit;
    turned integer := 0;
BEGIN
    FOR circuit IN SELECT * FROM platform_circuit c
                   WHERE c.state = 'open' AND c.next_probe_at <= now() FOR UPDATE SKIP LOCKED LOOP
        PERFORM circuit_change(circuit, 'half_open', circuit.cause, who, 0,
            CASE WHEN circuit.cause IN ('PROVIDER_ACCOUNT', 'CREDENTIAL_INVALID') THEN 1
                 ELSE most_probes END);
        turned := turned + 1;
    END LOOP;
    RETURN turned;
END $$;

CREATE FUNCTION public.circuit_probing(circuit public.platform_circuit) RETURNS bigint
    LANGUAGE sql
    AS $$
    SELECT count(*) FROM ai_job
    WHERE lifecycle_status IN ('locked', 'running') AND lock_until > now()
      AND credential_mode = 'platform_key' AND circuit_epoch = circuit.epoch
      AND model_provider = circuit.provider AND model_name = circuit.model
$$;

CREATE FUNCTION public.circuit_record(the_provider text, the_model text, the_epoch integer, outcome text, why text, who text, failures_to_open integer, open_seconds double precision, OUT state text, OUT changed boolean) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    circuit platform_circuit;
BEGIN
    changed := false;
    SELECT * INTO circuit FROM platform_circuit c WHERE c.provider = the_provider AND c.model = the_model;
    state := coalesce(circuit.state, 'closed');
    IF outcome IS NULL OR (outcome IN ('success', 'overrun') AND state = 'closed'
                           AND coalesce(circuit.consecutive_failures, 0) = 0) THEN
        RETURN;
    END IF;
    INSERT INTO platform_circuit (provider, model) VALUES (the_provider, the_model)
    ON CONFLICT DO NOTHING;
    SELECT * INTO STRICT circuit FROM platform_circuit c
    WHERE c.provider = the_provider AND c.model = the_model FOR UPDATE;
    state := circuit.state;
    IF circuit.epoch <> the_epoch OR circuit.state = 'open' THEN
        RETURN;
    END IF;
    IF circuit.state = 'half_open' THEN
        IF outcome = 'success' THEN
            circuit := circuit_change(circuit, 'closed', NULL, who, open_seconds, 0);
        ELSE
            circuit := circuit_change(circuit, 'open', coalesce(why, outcome), who, open_seconds, 0);
        END IF;
        changed := true;
    ELSIF outcome = 'fault' OR (outcome = 'failure'
                                AND circuit.consecutive_failures + 1 >= failures_to_open) THEN
        UPDATE platform_circuit c SET consecutive_failures = c.consecutive_failures + 1
        WHERE c.provider = the_provider AND c.model = the_model;
        circuit := circuit_change(circuit, 'open', coalesce(why, outcome), who, open_seconds, 0);
        changed := true;
    ELSIF outcome = 'failure' THEN
        UPDATE platform_circuit c SET consecutive_failures = c.consecutive_failures + 1, cause = why
        WHERE c.provider = the_provider AND c.model = the_model;
    ELSE
        UPDATE platform_circuit c SET consecutive_failures = 0, cause = NULL
        WHERE c.provider = the_provider AND c.model = the_model;
    END IF;
    state := circuit.state;
END $$;

CREATE FUNCTION public.circuit_ticket(routes jsonb, the_type text, mode text, holding boolean, OUT admitted boolean, OUT provider text, OUT model text, OUT epoch integer) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    route jsonb;
    circuit platform_circuit;
BEGIN
    admitted := true;
    IF mode <> 'platform_key'
       OR NOT EXISTS (SELECT FROM platform_circuit c WHERE c.state <> 'closed') THEN
        RETURN;
    END IF;
    FOR route IN SELECT value FROM jsonb_array_elements(routes -> the_type) LOOP
        SELECT * INTO circuit FROM platform_circuit c
        WHERE c.provider = route ->> 0 AND c.model = route ->> 1;
        IF NOT FOUND OR circuit.state = 'closed' THEN
            RETURN;
        END IF;
        IF circuit.state = 'half_open' AND holding THEN
            SELECT * INTO circuit FROM platform_circuit c
            WHERE c.provider = route ->> 0 AND c.model = route ->> 1 FOR UPDATE;
            IF circuit.state = 'closed' THEN
                RETURN;
            END IF;
        END IF;
        IF circuit.state = 'half_open' AND circuit_probing(circuit) < circuit.probes THEN
            provider := circuit.provider;
            model := circuit.model;
            epoch := circuit.epoch;
            RETURN;
        END IF;
    END LOOP;
    admitted := false;
END $$;

CREATE FUNCTION public.job_transition_guard() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'job_transition is append-only'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'job_transition_append_only';
END $$;

CREATE FUNCTION public.ledger_bill() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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

CREATE TABLE public.ai_job_reservation (
    job_id uuid NOT NULL,
    user_id uuid NOT NULL,
    user_date date NOT NULL,
    month date NOT NULL,
    platform_date date NOT NULL,
    credential_mode text NOT NULL,
    jobs integer DEFAULT 0 NOT NULL,
    tokens bigint DEFAULT 0 NOT NULL,
    cost_micro_usd bigint DEFAULT 0 NOT NULL,
    settled_at timestamp with time zone,
    tokens_booked bigint DEFAULT 0 NOT NULL,
    cost_booked bigint DEFAULT 0 NOT NULL,
    CONSTRAINT ai_job_reservation_sign CHECK (((jobs >= 0) AND (tokens >= 0) AND (cost_micro_usd >= 0)))
);

CREATE FUNCTION public.ledger_book(home public.ai_job_reservation, d_jobs integer, d_tokens_reserved bigint, d_tokens_used bigint, d_tokens_overrun bigint, d_cost_reserved bigint, d_cost_used bigint, d_cost_overrun bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.ledger_close(home public.ai_job_reservation, spent_tokens bigint, spent_cost bigint, jobs_back integer) RETURNS void
    LANGUAGE sql
    AS $$
    SELECT ledger_book(home, -jobs_back,
        -home.tokens, spent_tokens, greatest(0, spent_tokens - home.tokens),
        -home.cost_micro_usd, spent_cost, greatest(0, spent_cost - home.cost_micro_usd))
$$;

CREATE FUNCTION public.ledger_raise(the_call uuid, platform_tokens bigint, platform_cost bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.ledger_reserve(job uuid, new_tokens bigint, new_cost bigint, platform_tokens bigint, platform_cost bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.ledger_settle() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.ledger_spent(home public.ai_job_reservation, OUT tokens bigint, OUT cost bigint) RETURNS record
    LANGUAGE sql
    AS $$
    SELECT coalesce(sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)), 0)::bigint,
           coalesce(sum(coalesce(cost_micro_usd, 0)), 0)::bigint
    FROM ai_usage_log
    WHERE job_id = home.job_id AND user_date = home.user_date AND month = home.month
      AND platform_date = home.platform_date
$$;

CREATE FUNCTION public.ledger_take(home public.ai_job_reservation, new_jobs integer, new_tokens bigint, new_cost bigint, platform_tokens bigint, platform_cost bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION public.ledger_today(whose uuid, OUT user_date date, OUT month date, OUT platform_date date) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    zone text := coalesce((SELECT ledger_zone(s) FROM user_ai_settings s WHERE s.user_id = whose), 'UTC');
BEGIN
    user_date := (now() AT TIME ZONE zone)::date;
    month := date_trunc('month', user_date)::date;
    platform_date := (now() AT TIME ZONE 'UTC')::date;
END $$;

CREATE TABLE public.user_ai_settings (
    user_id uuid NOT NULL,
    ai_enabled boolean DEFAULT true NOT NULL,
    max_daily_ai_jobs integer DEFAULT 20 NOT NULL,
    max_daily_token_budget bigint DEFAULT 100000 NOT NULL,
    monthly_token_quota bigint,
    max_active_jobs integer DEFAULT 5 NOT NULL,
    time_zone text DEFAULT 'UTC'::text NOT NULL,
    next_time_zone text,
    next_time_zone_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    limits_changed_at timestamp with time zone,
    CONSTRAINT user_ai_settings_next_zone CHECK (((next_time_zone IS NULL) = (next_time_zone_at IS NULL)))
);

CREATE FUNCTION public.ledger_zone(settings public.user_ai_settings) RETURNS text
    LANGUAGE sql STABLE
    AS $$
    SELECT CASE WHEN settings.next_time_zone_at <= now() THEN settings.next_time_zone
                ELSE settings.time_zone END
$$;

CREATE FUNCTION public.user_gate(whose uuid, daily_jobs integer, daily_tokens bigint, monthly_tokens bigint, active integer, OUT ai_enabled boolean, OUT max_active_jobs integer, OUT active_jobs integer, OUT circuit_trouble boolean) RETURNS record
    LANGUAGE plpgsql
    AS $$
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

CREATE TABLE public.admin_audit (
    id bigint NOT NULL,
    who text NOT NULL,
    what text NOT NULL,
    target text NOT NULL,
    before jsonb,
    after jsonb,
    at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE public.admin_audit ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.admin_audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.ai_job (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    job_type text NOT NULL,
    definition_version integer NOT NULL,
    target_type text NOT NULL,
    target_id uuid NOT NULL,
    params jsonb DEFAULT '{}'::jsonb NOT NULL,
    lane text DEFAULT 'engine'::text NOT NULL,
    queue_name text NOT NULL,
    priority smallint NOT NULL,
    rank_at timestamp with time zone DEFAULT now() NOT NULL,
    lifecycle_status text DEFAULT 'queued'::text NOT NULL,
    status text GENERATED ALWAYS AS (
CASE lifecycle_status
    WHEN 'queued'::text THEN 'pending'::text
    WHEN 'locked'::text THEN 'processing'::text
    WHEN 'running'::text THEN 'processing'::text
    WHEN 'succeeded'::text THEN 'completed'::text
    WHEN 'failed'::text THEN 'failed'::text
    WHEN 'cancelled'::text THEN 'cancelled'::text
    WHEN 'expired'::text THEN 'pending'::text
    ELSE NULL::text
END) STORED,
    stage text,
    progress smallint DEFAULT 0 NOT NULL,
    idempotency_key text,
    request_hash text NOT NULL,
    credential_mode text NOT NULL,
    credential_id uuid,
    credential_version integer,
    model_provider text,
    model_name text,
    prompt_version text NOT NULL,
    input_schema_version text NOT NULL,
    output_schema_version text NOT NULL,
    attempt_no integer DEFAULT 0 NOT NULL,
    retry_count integer DEFAULT 0 NOT NULL,
    max_retry_count integer NOT NULL,
    internal_retry_count integer DEFAULT 0 NOT NULL,
    crash_count integer DEFAULT 0 NOT NULL,
    hand_back_count integer DEFAULT 0 NOT NULL,
    call_count integer DEFAULT 0 NOT NULL,
    timeout_seconds integer NOT NULL,
    retried_from_job_id uuid,
    locked_by text,
    locked_at timestamp with time zone,
    lock_until timestamp with time zone,
    available_at timestamp with time zone DEFAULT now() NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    completed_at timestamp with time zone,
    cancel_requested_at timestamp with time zone,
    cancel_reason text,
    dispatch_no integer DEFAULT 0 NOT NULL,
    dispatched_at timestamp with time zone,
    error_code text,
    public_error_message text,
    internal_error_message text,
    output_hash text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    circuit_epoch integer,
    CONSTRAINT ai_job_completed CHECK (((completed_at IS NULL) OR (finished_at IS NOT NULL))),
    CONSTRAINT ai_job_error CHECK (((lifecycle_status <> 'failed'::text) OR (error_code IS NOT NULL))),
    CONSTRAINT ai_job_finished CHECK (((lifecycle_status = ANY (ARRAY['cancelled'::text, 'failed'::text, 'succeeded'::text])) = (finished_at IS NOT NULL))),
    CONSTRAINT ai_job_holder CHECK (((lock_until IS NULL) = (locked_by IS NULL))),
    CONSTRAINT ai_job_internal_message_size CHECK ((octet_length(internal_error_message) <= 4096)),
    CONSTRAINT ai_job_lane_known CHECK ((lane = ANY (ARRAY['engine'::text, 'runtime'::text]))),
    CONSTRAINT ai_job_lease CHECK (((lifecycle_status = ANY (ARRAY['locked'::text, 'running'::text])) = (lock_until IS NOT NULL))),
    CONSTRAINT ai_job_lifecycle_status_known CHECK ((lifecycle_status = ANY (ARRAY['queued'::text, 'locked'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text, 'expired'::text]))),
    CONSTRAINT ai_job_priority_range CHECK (((priority >= 0) AND (priority <= 100))),
    CONSTRAINT ai_job_progress_range CHECK (((progress >= 0) AND (progress <= 100))),
    CONSTRAINT ai_job_queued_uncancelled CHECK (((lifecycle_status <> 'queued'::text) OR (cancel_requested_at IS NULL))),
    CONSTRAINT ai_job_started CHECK (((lifecycle_status <> 'running'::text) OR (started_at IS NOT NULL)))
);

CREATE TABLE public.ai_job_artifact (
    job_id uuid NOT NULL,
    artifact_type text NOT NULL,
    artifact_id uuid NOT NULL,
    ordinal integer NOT NULL,
    attempt_no integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.ai_job_dependency (
    job_id uuid NOT NULL,
    after_job_id uuid NOT NULL
);

CREATE TABLE public.ai_job_input (
    job_id uuid NOT NULL,
    content jsonb NOT NULL
);

CREATE TABLE public.ai_job_result (
    job_id uuid NOT NULL,
    attempt_no integer NOT NULL,
    state text NOT NULL,
    output jsonb NOT NULL,
    output_hash text NOT NULL,
    snapshot_hash text NOT NULL,
    result_key text NOT NULL,
    submitted_by text NOT NULL,
    requested_count integer,
    delivered_count integer,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT ai_job_result_state_known CHECK ((state = ANY (ARRAY['validated'::text, 'accepted'::text])))
);

CREATE TABLE public.ai_job_snapshot (
    job_id uuid NOT NULL,
    schema_version text NOT NULL,
    redaction_version text NOT NULL,
    content jsonb NOT NULL,
    content_hash text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.ai_learning_analysis (
    id uuid NOT NULL,
    job_id uuid NOT NULL,
    user_id uuid NOT NULL,
    target_type text NOT NULL,
    target_id uuid NOT NULL,
    ordinal integer NOT NULL,
    summary text NOT NULL,
    mastery jsonb NOT NULL,
    confidence double precision,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT ai_learning_analysis_ordinal_sign CHECK ((ordinal >= 0))
);

CREATE TABLE public.ai_usage_log (
    id uuid NOT NULL,
    job_id uuid NOT NULL,
    user_id uuid NOT NULL,
    attempt_no integer NOT NULL,
    call_no integer NOT NULL,
    call_id text NOT NULL,
    state text NOT NULL,
    tier text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    response_model text,
    credential_mode text NOT NULL,
    prompt_key text NOT NULL,
    prompt_version text NOT NULL,
    request_hash text NOT NULL,
    circuit_epoch integer,
    http_status integer,
    finish_reason text,
    input_tokens bigint,
    cached_tokens bigint,
    output_tokens bigint,
    reasoning_tokens bigint,
    estimated boolean DEFAULT false NOT NULL,
    cost_micro_usd bigint,
    latency_ms integer,
    success boolean,
    error_code text,
    raw_response text,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    finished_at timestamp with time zone,
    user_date date,
    month date,
    platform_date date,
    CONSTRAINT ai_usage_log_state_known CHECK ((state = ANY (ARRAY['started'::text, 'completed'::text, 'failed'::text, 'cut'::text, 'unknown'::text])))
);

CREATE TABLE public.flashcard (
    id uuid NOT NULL,
    knowledge_base_id uuid NOT NULL,
    content_hash text NOT NULL,
    job_id uuid NOT NULL,
    front text NOT NULL,
    back text NOT NULL,
    tags jsonb DEFAULT '[]'::jsonb NOT NULL,
    knowledge_point_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.flashcard_candidate (
    id uuid NOT NULL,
    job_id uuid NOT NULL,
    knowledge_base_id uuid NOT NULL,
    ordinal integer NOT NULL,
    content jsonb NOT NULL,
    content_hash text NOT NULL,
    state text DEFAULT 'candidate'::text NOT NULL,
    published_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT flashcard_candidate_ordinal_sign CHECK ((ordinal >= 0)),
    CONSTRAINT flashcard_candidate_state_known CHECK ((state = ANY (ARRAY['candidate'::text, 'published'::text, 'duplicate'::text])))
);

CREATE TABLE public.job_transition (
    id bigint NOT NULL,
    job_id uuid NOT NULL,
    from_status text,
    to_status text NOT NULL,
    stage text,
    attempt_no integer NOT NULL,
    cause text NOT NULL,
    actor text NOT NULL,
    error_code text,
    at timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE public.job_transition ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.job_transition_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.knowledge_base (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    title text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.knowledge_point (
    id uuid NOT NULL,
    knowledge_base_id uuid NOT NULL,
    title text NOT NULL,
    body text NOT NULL,
    tags jsonb DEFAULT '[]'::jsonb NOT NULL,
    "position" integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.learner_profile (
    user_id uuid NOT NULL,
    goals text,
    level text,
    locale text,
    preferences jsonb DEFAULT '{}'::jsonb NOT NULL,
    display_name text,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.maintenance_pass (
    name text NOT NULL,
    last_started_at timestamp with time zone,
    last_succeeded_at timestamp with time zone,
    last_error text
);

CREATE TABLE public.material (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    knowledge_base_id uuid,
    title text NOT NULL,
    body text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.next_action_recommendation (
    id uuid NOT NULL,
    job_id uuid NOT NULL,
    user_id uuid NOT NULL,
    target_type text NOT NULL,
    target_id uuid NOT NULL,
    ordinal integer NOT NULL,
    title text NOT NULL,
    priority text NOT NULL,
    minutes integer NOT NULL,
    reason text NOT NULL,
    knowledge_point_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT next_action_recommendation_ordinal_sign CHECK ((ordinal >= 0)),
    CONSTRAINT next_action_recommendation_priority_known CHECK ((priority = ANY (ARRAY['low'::text, 'medium'::text, 'high'::text])))
);

CREATE TABLE public.notification (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    job_id uuid NOT NULL,
    kind text NOT NULL,
    payload jsonb DEFAULT '{}'::jsonb NOT NULL,
    read_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.outbox_event (
    id bigint NOT NULL,
    event_type text NOT NULL,
    aggregate_type text DEFAULT 'ai_job'::text NOT NULL,
    aggregate_id uuid NOT NULL,
    dedupe_key text NOT NULL,
    payload jsonb NOT NULL,
    status text DEFAULT 'pending'::text NOT NULL,
    attempt_count integer DEFAULT 0 NOT NULL,
    rank_at timestamp with time zone DEFAULT now() NOT NULL,
    available_at timestamp with time zone DEFAULT now() NOT NULL,
    locked_by text,
    locked_at timestamp with time zone,
    published_at timestamp with time zone,
    last_error text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT outbox_event_status_known CHECK ((status = ANY (ARRAY['pending'::text, 'processing'::text, 'published'::text, 'dead'::text])))
);

ALTER TABLE public.outbox_event ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.outbox_event_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.platform_usage_daily (
    utc_date date NOT NULL,
    jobs integer DEFAULT 0 NOT NULL,
    tokens_reserved bigint DEFAULT 0 NOT NULL,
    tokens_used bigint DEFAULT 0 NOT NULL,
    tokens_overrun bigint DEFAULT 0 NOT NULL,
    cost_reserved bigint DEFAULT 0 NOT NULL,
    cost_used bigint DEFAULT 0 NOT NULL,
    cost_overrun bigint DEFAULT 0 NOT NULL,
    CONSTRAINT platform_usage_daily_sign CHECK (((jobs >= 0) AND (tokens_reserved >= 0) AND (tokens_used >= 0) AND (tokens_overrun >= 0) AND (cost_reserved >= 0) AND (cost_used >= 0) AND (cost_overrun >= 0)))
);

CREATE TABLE public.queue_control (
    queue_name text NOT NULL,
    paused_at timestamp with time zone,
    paused_by text
);

CREATE TABLE public.quiz_question (
    id uuid NOT NULL,
    knowledge_base_id uuid NOT NULL,
    content_hash text NOT NULL,
    job_id uuid NOT NULL,
    question text NOT NULL,
    options jsonb NOT NULL,
    answer_index smallint NOT NULL,
    explanation text,
    difficulty text,
    knowledge_point_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.quiz_question_candidate (
    id uuid NOT NULL,
    job_id uuid NOT NULL,
    knowledge_base_id uuid NOT NULL,
    ordinal integer NOT NULL,
    content jsonb NOT NULL,
    content_hash text NOT NULL,
    state text DEFAULT 'candidate'::text NOT NULL,
    published_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT quiz_question_candidate_ordinal_sign CHECK ((ordinal >= 0)),
    CONSTRAINT quiz_question_candidate_state_known CHECK ((state = ANY (ARRAY['candidate'::text, 'published'::text, 'duplicate'::text])))
);

CREATE TABLE public.recall_evaluation (
    id uuid NOT NULL,
    job_id uuid NOT NULL,
    user_id uuid NOT NULL,
    target_type text NOT NULL,
    target_id uuid NOT NULL,
    ordinal integer NOT NULL,
    kind text NOT NULL,
    score double precision NOT NULL,
    clarity double precision,
    missing jsonb NOT NULL,
    feedback text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT recall_evaluation_kind_known CHECK ((kind = ANY (ARRAY['active_recall'::text, 'feynman_evaluation'::text]))),
    CONSTRAINT recall_evaluation_ordinal_sign CHECK ((ordinal >= 0))
);

CREATE TABLE public.schema_migration (
    id integer NOT NULL,
    name character varying(255) NOT NULL,
    applied timestamp without time zone NOT NULL
);

CREATE SEQUENCE public.schema_migration_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE public.schema_migration_id_seq OWNED BY public.schema_migration.id;

CREATE TABLE public.study_record (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    knowledge_point_id uuid NOT NULL,
    activity text NOT NULL,
    correct boolean,
    score double precision,
    duration_ms integer,
    at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT study_record_activity_known CHECK ((activity = ANY (ARRAY['quiz'::text, 'flashcard'::text, 'recall'::text, 'reading'::text]))),
    CONSTRAINT study_record_duration_sign CHECK ((duration_ms >= 0)),
    CONSTRAINT study_record_score_range CHECK (((score >= (0)::double precision) AND (score <= (1)::double precision)))
);

CREATE TABLE public.user_ai_usage_daily (
    user_id uuid NOT NULL,
    local_date date NOT NULL,
    credential_mode text NOT NULL,
    jobs integer DEFAULT 0 NOT NULL,
    tokens_reserved bigint DEFAULT 0 NOT NULL,
    tokens_used bigint DEFAULT 0 NOT NULL,
    tokens_overrun bigint DEFAULT 0 NOT NULL,
    cost_reserved bigint DEFAULT 0 NOT NULL,
    cost_used bigint DEFAULT 0 NOT NULL,
    cost_overrun bigint DEFAULT 0 NOT NULL,
    CONSTRAINT user_ai_usage_daily_sign CHECK (((jobs >= 0) AND (tokens_reserved >= 0) AND (tokens_used >= 0) AND (tokens_overrun >= 0) AND (cost_reserved >= 0) AND (cost_used >= 0) AND (cost_overrun >= 0)))
);

CREATE TABLE public.user_ai_usage_monthly (
    user_id uuid NOT NULL,
    month date NOT NULL,
    credential_mode text NOT NULL,
    jobs integer DEFAULT 0 NOT NULL,
    tokens_reserved bigint DEFAULT 0 NOT NULL,
    tokens_used bigint DEFAULT 0 NOT NULL,
    tokens_overrun bigint DEFAULT 0 NOT NULL,
    cost_reserved bigint DEFAULT 0 NOT NULL,
    cost_used bigint DEFAULT 0 NOT NULL,
    cost_overrun bigint DEFAULT 0 NOT NULL,
    CONSTRAINT user_ai_usage_monthly_sign CHECK (((jobs >= 0) AND (tokens_reserved >= 0) AND (tokens_used >= 0) AND (tokens_overrun >= 0) AND (cost_reserved >= 0) AND (cost_used >= 0) AND (cost_overrun >= 0)))
);

CREATE TABLE public.user_model_credential (
    id uuid NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    user_id uuid NOT NULL,
    label text NOT NULL,
    provider text NOT NULL,
    base_url text NOT NULL,
    ciphertext bytea NOT NULL,
    nonce bytea NOT NULL,
    key_id text NOT NULL,
    last4 text NOT NULL,
    status text DEFAULT 'active'::text NOT NULL,
    last_verified_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    deleted_at timestamp with time zone,
    CONSTRAINT user_model_credential_status_known CHECK ((status = ANY (ARRAY['active'::text, 'invalid'::text])))
);

CREATE TABLE public.weak_point_candidate (
    id uuid NOT NULL,
    job_id uuid NOT NULL,
    user_id uuid NOT NULL,
    target_type text NOT NULL,
    target_id uuid NOT NULL,
    ordinal integer NOT NULL,
    topic text NOT NULL,
    severity text NOT NULL,
    evidence text NOT NULL,
    knowledge_point_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT weak_point_candidate_ordinal_sign CHECK ((ordinal >= 0)),
    CONSTRAINT weak_point_candidate_severity_known CHECK ((severity = ANY (ARRAY['low'::text, 'medium'::text, 'high'::text])))
);

ALTER TABLE ONLY public.schema_migration ALTER COLUMN id SET DEFAULT nextval('public.schema_migration_id_seq'::regclass);

ALTER TABLE ONLY public.admin_audit
    ADD CONSTRAINT admin_audit_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.ai_job_artifact
    ADD CONSTRAINT ai_job_artifact_pkey PRIMARY KEY (job_id, artifact_type, artifact_id);

ALTER TABLE ONLY public.ai_job_dependency
    ADD CONSTRAINT ai_job_dependency_pkey PRIMARY KEY (job_id, after_job_id);

ALTER TABLE ONLY public.ai_job_input
    ADD CONSTRAINT ai_job_input_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY public.ai_job
    ADD CONSTRAINT ai_job_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.ai_job_reservation
    ADD CONSTRAINT ai_job_reservation_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY public.ai_job_result
    ADD CONSTRAINT ai_job_result_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY public.ai_job_snapshot
    ADD CONSTRAINT ai_job_snapshot_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY public.ai_learning_analysis
    ADD CONSTRAINT ai_learning_analysis_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.ai_usage_log
    ADD CONSTRAINT ai_usage_log_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.flashcard_candidate
    ADD CONSTRAINT flashcard_candidate_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.flashcard
    ADD CONSTRAINT flashcard_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.job_transition
    ADD CONSTRAINT job_transition_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.knowledge_base
    ADD CONSTRAINT knowledge_base_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.knowledge_point
    ADD CONSTRAINT knowledge_point_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.learner_profile
    ADD CONSTRAINT learner_profile_pkey PRIMARY KEY (user_id);

ALTER TABLE ONLY public.maintenance_pass
    ADD CONSTRAINT maintenance_pass_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.material
    ADD CONSTRAINT material_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.next_action_recommendation
    ADD CONSTRAINT next_action_recommendation_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.notification
    ADD CONSTRAINT notification_pkey PRIMARY KEY (job_id, kind);

ALTER TABLE ONLY public.outbox_event
    ADD CONSTRAINT outbox_event_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.platform_circuit
    ADD CONSTRAINT platform_circuit_pkey PRIMARY KEY (provider, model);

ALTER TABLE ONLY public.platform_usage_daily
    ADD CONSTRAINT platform_usage_daily_pkey PRIMARY KEY (utc_date);

ALTER TABLE ONLY public.queue_control
    ADD CONSTRAINT queue_control_pkey PRIMARY KEY (queue_name);

ALTER TABLE ONLY public.quiz_question_candidate
    ADD CONSTRAINT quiz_question_candidate_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.quiz_question
    ADD CONSTRAINT quiz_question_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.recall_evaluation
    ADD CONSTRAINT recall_evaluation_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.schema_migration
    ADD CONSTRAINT schema_migration_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.study_record
    ADD CONSTRAINT study_record_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.user_ai_settings
    ADD CONSTRAINT user_ai_settings_pkey PRIMARY KEY (user_id);

ALTER TABLE ONLY public.user_ai_usage_daily
    ADD CONSTRAINT user_ai_usage_daily_pkey PRIMARY KEY (user_id, local_date, credential_mode);

ALTER TABLE ONLY public.user_ai_usage_monthly
    ADD CONSTRAINT user_ai_usage_monthly_pkey PRIMARY KEY (user_id, month, credential_mode);

ALTER TABLE ONLY public.user_model_credential
    ADD CONSTRAINT user_model_credential_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.weak_point_candidate
    ADD CONSTRAINT weak_point_candidate_pkey PRIMARY KEY (id);

CREATE INDEX admin_audit_at ON public.admin_audit USING btree (at, id);

CREATE UNIQUE INDEX ai_job_artifact_ordinal ON public.ai_job_artifact USING btree (job_id, artifact_type, ordinal);

CREATE INDEX ai_job_by_error ON public.ai_job USING btree (error_code, created_at, id) WHERE (error_code IS NOT NULL);

CREATE INDEX ai_job_by_status ON public.ai_job USING btree (lifecycle_status, created_at, id);

CREATE INDEX ai_job_by_target ON public.ai_job USING btree (user_id, target_type, target_id, created_at, id);

CREATE INDEX ai_job_by_time ON public.ai_job USING btree (created_at, id);

CREATE INDEX ai_job_by_type ON public.ai_job USING btree (job_type, created_at, id);

CREATE INDEX ai_job_by_user ON public.ai_job USING btree (user_id, created_at, id);

CREATE INDEX ai_job_dependency_parent ON public.ai_job_dependency USING btree (after_job_id);

CREATE INDEX ai_job_expired ON public.ai_job USING btree (id) WHERE (lifecycle_status = 'expired'::text);

CREATE UNIQUE INDEX ai_job_idempotency ON public.ai_job USING btree (user_id, job_type, idempotency_key);

CREATE INDEX ai_job_leased ON public.ai_job USING btree (lock_until) WHERE (lifecycle_status = ANY (ARRAY['locked'::text, 'running'::text]));

CREATE INDEX ai_job_queued ON public.ai_job USING btree (lane, queue_name, rank_at) WHERE (lifecycle_status = 'queued'::text);

CREATE UNIQUE INDEX ai_job_result_key ON public.ai_job_result USING btree (result_key);

CREATE INDEX ai_job_snapshot_expiry ON public.ai_job_snapshot USING btree (expires_at);

CREATE INDEX ai_job_uncompleted ON public.ai_job USING btree (finished_at) WHERE ((lifecycle_status = ANY (ARRAY['cancelled'::text, 'failed'::text, 'succeeded'::text])) AND (completed_at IS NULL));

CREATE INDEX ai_job_unfinished ON public.ai_job USING btree (user_id) WHERE (lifecycle_status <> ALL (ARRAY['cancelled'::text, 'failed'::text, 'succeeded'::text]));

CREATE UNIQUE INDEX ai_job_unfinished_retry ON public.ai_job USING btree (retried_from_job_id) WHERE ((retried_from_job_id IS NOT NULL) AND (lifecycle_status <> ALL (ARRAY['cancelled'::text, 'failed'::text, 'succeeded'::text])));

CREATE INDEX ai_learning_analysis_by_user ON public.ai_learning_analysis USING btree (user_id, created_at, id);

CREATE UNIQUE INDEX ai_learning_analysis_ordinal ON public.ai_learning_analysis USING btree (job_id, ordinal);

CREATE INDEX ai_usage_log_by_time ON public.ai_usage_log USING btree (started_at);

CREATE INDEX ai_usage_log_by_user ON public.ai_usage_log USING btree (user_id, started_at);

CREATE UNIQUE INDEX ai_usage_log_call ON public.ai_usage_log USING btree (job_id, call_id);

CREATE INDEX flashcard_by_base ON public.flashcard USING btree (knowledge_base_id, created_at, id);

CREATE UNIQUE INDEX flashcard_candidate_ordinal ON public.flashcard_candidate USING btree (job_id, ordinal);

CREATE UNIQUE INDEX flashcard_content ON public.flashcard USING btree (knowledge_base_id, content_hash);

CREATE INDEX job_transition_at ON public.job_transition USING btree (at);

CREATE INDEX job_transition_job ON public.job_transition USING btree (job_id, id);

CREATE INDEX knowledge_base_by_user ON public.knowledge_base USING btree (user_id, created_at, id);

CREATE INDEX knowledge_point_position ON public.knowledge_point USING btree (knowledge_base_id, "position", id);

CREATE INDEX material_base ON public.material USING btree (knowledge_base_id);

CREATE INDEX material_by_user ON public.material USING btree (user_id, created_at, id);

CREATE INDEX next_action_recommendation_by_user ON public.next_action_recommendation USING btree (user_id, created_at, id);

CREATE UNIQUE INDEX next_action_recommendation_ordinal ON public.next_action_recommendation USING btree (job_id, ordinal);

CREATE INDEX notification_by_user ON public.notification USING btree (user_id, created_at, id);

CREATE UNIQUE INDEX notification_id ON public.notification USING btree (id);

CREATE INDEX outbox_event_dead ON public.outbox_event USING btree (id) WHERE (status = 'dead'::text);

CREATE UNIQUE INDEX outbox_event_dedupe ON public.outbox_event USING btree (dedupe_key);

CREATE INDEX outbox_event_pending ON public.outbox_event USING btree (rank_at, id) WHERE (status = 'pending'::text);

CREATE INDEX outbox_event_processing ON public.outbox_event USING btree (locked_at) WHERE (status = 'processing'::text);

CREATE INDEX outbox_event_published ON public.outbox_event USING btree (published_at) WHERE (status = 'published'::text);

CREATE INDEX quiz_question_by_base ON public.quiz_question USING btree (knowledge_base_id, created_at, id);

CREATE UNIQUE INDEX quiz_question_candidate_ordinal ON public.quiz_question_candidate USING btree (job_id, ordinal);

CREATE UNIQUE INDEX quiz_question_content ON public.quiz_question USING btree (knowledge_base_id, content_hash);

CREATE INDEX recall_evaluation_by_user ON public.recall_evaluation USING btree (user_id, created_at, id);

CREATE UNIQUE INDEX recall_evaluation_ordinal ON public.recall_evaluation USING btree (job_id, ordinal);

CREATE UNIQUE INDEX schema_migration_name ON public.schema_migration USING btree (name);

CREATE INDEX study_record_by_point ON public.study_record USING btree (user_id, knowledge_point_id, at);

CREATE INDEX study_record_by_user ON public.study_record USING btree (user_id, at, id);

CREATE INDEX study_record_point ON public.study_record USING btree (knowledge_point_id);

CREATE INDEX user_model_credential_by_user ON public.user_model_credential USING btree (user_id, created_at, id) WHERE (deleted_at IS NULL);

CREATE INDEX weak_point_candidate_by_user ON public.weak_point_candidate USING btree (user_id, created_at, id);

CREATE UNIQUE INDEX weak_point_candidate_ordinal ON public.weak_point_candidate USING btree (job_id, ordinal);

CREATE TRIGGER ai_job_guard BEFORE INSERT OR UPDATE ON public.ai_job FOR EACH ROW EXECUTE FUNCTION public.ai_job_guard();

CREATE CONSTRAINT TRIGGER ai_job_settled AFTER UPDATE OF finished_at ON public.ai_job DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((old.finished_at IS NULL) AND (new.finished_at IS NOT NULL))) EXECUTE FUNCTION public.ledger_settle();

CREATE CONSTRAINT TRIGGER ai_usage_log_billed AFTER UPDATE OF input_tokens, output_tokens, cost_micro_usd ON public.ai_usage_log DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((((old.input_tokens IS DISTINCT FROM new.input_tokens) OR (old.output_tokens IS DISTINCT FROM new.output_tokens)) OR (old.cost_micro_usd IS DISTINCT FROM new.cost_micro_usd))) EXECUTE FUNCTION public.ledger_bill();

CREATE CONSTRAINT TRIGGER ai_usage_log_reported AFTER INSERT ON public.ai_usage_log DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.state <> 'started'::text)) EXECUTE FUNCTION public.ledger_bill();

CREATE TRIGGER job_transition_guard BEFORE UPDATE ON public.job_transition FOR EACH ROW EXECUTE FUNCTION public.job_transition_guard();

ALTER TABLE ONLY public.ai_job_artifact
    ADD CONSTRAINT ai_job_artifact_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.ai_job(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.ai_job_dependency
    ADD CONSTRAINT ai_job_dependency_after_job_id_fkey FOREIGN KEY (after_job_id) REFERENCES public.ai_job(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.ai_job_dependency
    ADD CONSTRAINT ai_job_dependency_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.ai_job(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.ai_job_input
    ADD CONSTRAINT ai_job_input_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.ai_job(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.ai_job_reservation
    ADD CONSTRAINT ai_job_reservation_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.ai_job(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.ai_job_result
    ADD CONSTRAINT ai_job_result_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.ai_job(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.ai_job_snapshot
    ADD CONSTRAINT ai_job_snapshot_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.ai_job(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.ai_learning_analysis
    ADD CONSTRAINT ai_learning_analysis_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.ai_job(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.ai_usage_log
    ADD CONSTRAINT ai_usage_log_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.ai_job(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.flashcard_candidate
    ADD CONSTRAINT flashcard_candidate_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.ai_job(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.flashcard
    ADD CONSTRAINT flashcard_knowledge_base_id_fkey FOREIGN KEY (knowledge_base_id) REFERENCES public.knowledge_base(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.job_transition
    ADD CONSTRAINT job_transition_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.ai_job(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.knowledge_point
    ADD CONSTRAINT knowledge_point_knowledge_base_id_fkey FOREIGN KEY (knowledge_base_id) REFERENCES public.knowledge_base(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.material
    ADD CONSTRAINT material_knowledge_base_id_fkey FOREIGN KEY (knowledge_base_id) REFERENCES public.knowledge_base(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.next_action_recommendation
    ADD CONSTRAINT next_action_recommendation_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.ai_job(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.notification
    ADD CONSTRAINT notification_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.ai_job(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.quiz_question_candidate
    ADD CONSTRAINT quiz_question_candidate_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.ai_job(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.quiz_question
    ADD CONSTRAINT quiz_question_knowledge_base_id_fkey FOREIGN KEY (knowledge_base_id) REFERENCES public.knowledge_base(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.recall_evaluation
    ADD CONSTRAINT recall_evaluation_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.ai_job(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.study_record
    ADD CONSTRAINT study_record_knowledge_point_id_fkey FOREIGN KEY (knowledge_point_id) REFERENCES public.knowledge_point(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.weak_point_candidate
    ADD CONSTRAINT weak_point_candidate_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.ai_job(id) ON DELETE CASCADE;
