-- What the database refuses on its own, whoever writes (contract: lifecycle.md, Transitions).
CREATE FUNCTION ai_job_guard() RETURNS trigger LANGUAGE plpgsql AS $$
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

CREATE TRIGGER ai_job_guard BEFORE INSERT OR UPDATE ON ai_job
    FOR EACH ROW EXECUTE FUNCTION ai_job_guard();

CREATE FUNCTION job_transition_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'job_transition is append-only'
        USING ERRCODE = 'check_violation', CONSTRAINT = 'job_transition_append_only';
END $$;

CREATE TRIGGER job_transition_guard BEFORE UPDATE ON job_transition
    FOR EACH ROW EXECUTE FUNCTION job_transition_guard();
