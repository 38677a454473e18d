-- The circuit of each of the platform's routes (contract: limits.md), shared by all processes. A route
-- without a row has never failed: closed, epoch 0. Every change is one step of the epoch and an audit row;
-- what happened in another epoch is ignored. The row's lock is taken after the job's and before the
-- ledger's; POST /jobs takes it before it inserts a job that nobody else can see.

-- Moves a circuit that the caller has locked.
CREATE FUNCTION circuit_change(now_is platform_circuit, to_state text, why text, who text,
    open_seconds double precision, most_probes integer) RETURNS platform_circuit LANGUAGE plpgsql AS $$
DECLARE
    then_is platform_circuit;
BEGIN
    UPDATE platform_circuit
    SET state = to_state, epoch = epoch + 1, cause = why, changed_at = now(), changed_by = who,
        consecutive_failures = CASE to_state WHEN 'closed' THEN 0 ELSE consecutive_failures END,
        probes = CASE to_state WHEN 'half_open' THEN most_probes ELSE 0 END,
        opened_at = CASE to_state WHEN 'open' THEN now() WHEN 'closed' THEN NULL ELSE opened_at END,
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

-- What a call came to: success, failure (time-out, 5xx, network), fault (account, key or model of the
-- platform) or overrun (answered beyond its bound). Returns the state then, and whether this changed it.
CREATE FUNCTION circuit_record(the_provider text, the_model text, the_epoch integer, outcome text,
    why text, who text, failures_to_open integer, open_seconds double precision,
    OUT state text, OUT changed boolean) LANGUAGE plpgsql AS $$
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

-- How many live leases probe this circuit.
CREATE FUNCTION circuit_probing(circuit platform_circuit) RETURNS bigint LANGUAGE sql AS $$
    SELECT count(*) FROM ai_job
    WHERE lifecycle_status IN ('locked', 'running') AND lock_until > now()
      AND credential_mode = 'platform_key' AND circuit_epoch = circuit.epoch
      AND model_provider = circuit.provider AND model_name = circuit.model
$$;

-- Whether a job may be claimed as far as circuits go, and the probe that its claim holds then. `routes` maps
-- job types to their routes, [provider, model], in order. With `holding` a probe is counted under its
-- circuit's lock. As long as every circuit is closed this reads one row of nothing.
CREATE FUNCTION circuit_ticket(routes jsonb, the_type text, mode text, holding boolean,
    OUT admitted boolean, OUT provider text, OUT model text, OUT epoch integer) LANGUAGE plpgsql AS $$
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

-- Before a call by the platform's key: the epoch that its outcome belongs to. Refused (AJ002) while the
-- circuit is open, and while it is half open to everyone but its probes.
CREATE FUNCTION circuit_pass(mode text, the_provider text, the_model text, ticket integer)
RETURNS integer LANGUAGE plpgsql AS $$
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

-- Whether POST /jobs may make another job of this type: null, or the code of the refusal. Half open, it
-- makes as many as may probe, counting every unfinished job that could; decided under the circuit's lock.
CREATE FUNCTION circuit_admission(routes jsonb, the_type text) RETURNS text LANGUAGE plpgsql AS $$
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
                  AND routes -> job.job_type @> jsonb_build_array(route)
                LIMIT circuit.probes) could_probe;
            IF waiting < circuit.probes THEN
                RETURN NULL;
            END IF;
            refusal := 'PLATFORM_CIRCUIT_HALF_OPEN';
        END IF;
    END LOOP;
    RETURN refusal;
END $$;

-- Opens half what has been open long enough; how many circuits that were. An account, a key or a
-- model is tried by one probe at a time, a server by `most_probes`.
CREATE FUNCTION circuit_probe_due(who text, most_probes integer) RETURNS integer LANGUAGE plpgsql AS $$
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
