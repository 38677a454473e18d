-- When an administrator last changed a user's limits: whoever was refused by those of before tries again.
ALTER TABLE user_ai_settings ADD COLUMN limits_changed_at timestamptz;

-- Whether POST /jobs may make another job of this type: null, or the code of the refusal. Half open, it
-- makes as many as may probe, decided under the circuit's lock. What takes a place is a probe under way and
-- a job that could be one now: one that waits for its due time, a budget, others or a paused queue says nothing
-- of the route, and would keep everybody out for as long as it waits. By the clock, not by now(): who
-- has waited for the lock began before the job that it has to count.
CREATE OR REPLACE FUNCTION circuit_admission(routes jsonb, the_type text) RETURNS text LANGUAGE plpgsql AS $$
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

-- Moves a circuit that the caller has locked. One that is open already and is held open now has been open since
-- it opened.
CREATE OR REPLACE FUNCTION circuit_change(now_is platform_circuit, to_state text, why text, who text,
    open_seconds double precision, most_probes integer) RETURNS platform_circuit LANGUAGE plpgsql AS $$
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
