-- The core tables: jobs, usage journal, outbox, learner data, what jobs produce.
CREATE TABLE ai_job (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    job_type text NOT NULL,
    definition_version integer NOT NULL,
    target_type text NOT NULL,
    target_id uuid NOT NULL,
    params jsonb DEFAULT '{}'::jsonb NOT NULL,
    lane text DEFAULT 'engine' NOT NULL,
    queue_name text NOT NULL,
    priority smallint NOT NULL,
    rank_at timestamp with time zone DEFAULT now() NOT NULL,
    lifecycle_status text DEFAULT 'queued' NOT NULL,
    status text GENERATED ALWAYS AS (
CASE lifecycle_status
    WHEN 'queued' THEN 'pending'
    WHEN 'locked' THEN 'processing'
    WHEN 'running' THEN 'processing'
    WHEN 'succeeded' THEN 'completed'
    WHEN 'failed' THEN 'failed'
    WHEN 'cancelled' THEN 'cancelled'
    WHEN 'expired' THEN 'pending'
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
    CONSTRAINT ai_job_completed CHECK (((completed_at IS NULL) OR (finished_at IS NOT NULL))),
    CONSTRAINT ai_job_error CHECK (((lifecycle_status <> 'failed') OR (error_code IS NOT NULL))),
    CONSTRAINT ai_job_finished CHECK (((lifecycle_status = ANY (ARRAY['cancelled', 'failed', 'succeeded'])) = (finished_at IS NOT NULL))),
    CONSTRAINT ai_job_holder CHECK (((lock_until IS NULL) = (locked_by IS NULL))),
    CONSTRAINT ai_job_internal_message_size CHECK ((octet_length(internal_error_message) <= 4096)),
    CONSTRAINT ai_job_lane_known CHECK ((lane = ANY (ARRAY['engine', 'runtime']))),
    CONSTRAINT ai_job_lease CHECK (((lifecycle_status = ANY (ARRAY['locked', 'running'])) = (lock_until IS NOT NULL))),
    CONSTRAINT ai_job_lifecycle_status_known CHECK ((lifecycle_status = ANY (ARRAY['queued', 'locked', 'running', 'succeeded', 'failed', 'cancelled', 'expired']))),
    CONSTRAINT ai_job_priority_range CHECK (((priority >= 0) AND (priority <= 100))),
    CONSTRAINT ai_job_progress_range CHECK (((progress >= 0) AND (progress <= 100))),
    CONSTRAINT ai_job_queued_uncancelled CHECK (((lifecycle_status <> 'queued') OR (cancel_requested_at IS NULL))),
    CONSTRAINT ai_job_started CHECK (((lifecycle_status <> 'running') OR (started_at IS NOT NULL))),
    PRIMARY KEY (id)
);

CREATE TABLE ai_job_artifact (
    job_id uuid NOT NULL,
    artifact_type text NOT NULL,
    artifact_id uuid NOT NULL,
    ordinal integer NOT NULL,
    attempt_no integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    PRIMARY KEY (job_id, artifact_type, artifact_id)
);

CREATE TABLE ai_job_dependency (
    job_id uuid NOT NULL,
    after_job_id uuid NOT NULL,
    PRIMARY KEY (job_id, after_job_id)
);

CREATE TABLE ai_job_input (
    job_id uuid NOT NULL,
    content jsonb NOT NULL,
    PRIMARY KEY (job_id)
);

CREATE TABLE ai_job_reservation (
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
    CONSTRAINT ai_job_reservation_sign CHECK (((jobs >= 0) AND (tokens >= 0) AND (cost_micro_usd >= 0))),
    PRIMARY KEY (job_id)
);

CREATE TABLE ai_job_result (
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
    CONSTRAINT ai_job_result_state_known CHECK ((state = ANY (ARRAY['validated', 'accepted']))),
    PRIMARY KEY (job_id)
);

CREATE TABLE ai_job_snapshot (
    job_id uuid NOT NULL,
    schema_version text NOT NULL,
    redaction_version text NOT NULL,
    content jsonb NOT NULL,
    content_hash text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    PRIMARY KEY (job_id)
);

CREATE TABLE ai_learning_analysis (
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
    CONSTRAINT ai_learning_analysis_ordinal_sign CHECK ((ordinal >= 0)),
    PRIMARY KEY (id)
);

CREATE TABLE ai_usage_log (
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
    CONSTRAINT ai_usage_log_state_known CHECK ((state = ANY (ARRAY['started', 'completed', 'failed', 'cut', 'unknown']))),
    PRIMARY KEY (id)
);

CREATE TABLE flashcard (
    id uuid NOT NULL,
    knowledge_base_id uuid NOT NULL,
    content_hash text NOT NULL,
    job_id uuid NOT NULL,
    front text NOT NULL,
    back text NOT NULL,
    tags jsonb DEFAULT '[]'::jsonb NOT NULL,
    knowledge_point_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE flashcard_candidate (
    id uuid NOT NULL,
    job_id uuid NOT NULL,
    knowledge_base_id uuid NOT NULL,
    ordinal integer NOT NULL,
    content jsonb NOT NULL,
    content_hash text NOT NULL,
    state text DEFAULT 'candidate' NOT NULL,
    published_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT flashcard_candidate_ordinal_sign CHECK ((ordinal >= 0)),
    CONSTRAINT flashcard_candidate_state_known CHECK ((state = ANY (ARRAY['candidate', 'published', 'duplicate']))),
    PRIMARY KEY (id)
);

CREATE TABLE job_transition (
    id bigint GENERATED BY DEFAULT AS IDENTITY,
    job_id uuid NOT NULL,
    from_status text,
    to_status text NOT NULL,
    stage text,
    attempt_no integer NOT NULL,
    cause text NOT NULL,
    actor text NOT NULL,
    error_code text,
    at timestamp with time zone DEFAULT now() NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE knowledge_base (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    title text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE knowledge_point (
    id uuid NOT NULL,
    knowledge_base_id uuid NOT NULL,
    title text NOT NULL,
    body text NOT NULL,
    tags jsonb DEFAULT '[]'::jsonb NOT NULL,
    "position" integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE learner_profile (
    user_id uuid NOT NULL,
    goals text,
    level text,
    locale text,
    preferences jsonb DEFAULT '{}'::jsonb NOT NULL,
    display_name text,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    PRIMARY KEY (user_id)
);

CREATE TABLE maintenance_pass (
    name text NOT NULL,
    last_started_at timestamp with time zone,
    last_succeeded_at timestamp with time zone,
    last_error text,
    PRIMARY KEY (name)
);

CREATE TABLE material (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    knowledge_base_id uuid,
    title text NOT NULL,
    body text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE next_action_recommendation (
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
    CONSTRAINT next_action_recommendation_priority_known CHECK ((priority = ANY (ARRAY['low', 'medium', 'high']))),
    PRIMARY KEY (id)
);

CREATE TABLE notification (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    job_id uuid NOT NULL,
    kind text NOT NULL,
    payload jsonb DEFAULT '{}'::jsonb NOT NULL,
    read_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    PRIMARY KEY (job_id, kind)
);

CREATE TABLE outbox_event (
    id bigint GENERATED BY DEFAULT AS IDENTITY,
    event_type text NOT NULL,
    aggregate_type text DEFAULT 'ai_job' NOT NULL,
    aggregate_id uuid NOT NULL,
    dedupe_key text NOT NULL,
    payload jsonb NOT NULL,
    status text DEFAULT 'pending' NOT NULL,
    attempt_count integer DEFAULT 0 NOT NULL,
    rank_at timestamp with time zone DEFAULT now() NOT NULL,
    available_at timestamp with time zone DEFAULT now() NOT NULL,
    locked_by text,
    locked_at timestamp with time zone,
    published_at timestamp with time zone,
    last_error text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT outbox_event_status_known CHECK ((status = ANY (ARRAY['pending', 'processing', 'published', 'dead']))),
    PRIMARY KEY (id)
);

CREATE TABLE queue_control (
    queue_name text NOT NULL,
    paused_at timestamp with time zone,
    paused_by text,
    PRIMARY KEY (queue_name)
);

CREATE TABLE quiz_question (
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
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE quiz_question_candidate (
    id uuid NOT NULL,
    job_id uuid NOT NULL,
    knowledge_base_id uuid NOT NULL,
    ordinal integer NOT NULL,
    content jsonb NOT NULL,
    content_hash text NOT NULL,
    state text DEFAULT 'candidate' NOT NULL,
    published_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT quiz_question_candidate_ordinal_sign CHECK ((ordinal >= 0)),
    CONSTRAINT quiz_question_candidate_state_known CHECK ((state = ANY (ARRAY['candidate', 'published', 'duplicate']))),
    PRIMARY KEY (id)
);

CREATE TABLE recall_evaluation (
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
    CONSTRAINT recall_evaluation_kind_known CHECK ((kind = ANY (ARRAY['active_recall', 'feynman_evaluation']))),
    CONSTRAINT recall_evaluation_ordinal_sign CHECK ((ordinal >= 0)),
    PRIMARY KEY (id)
);

CREATE TABLE study_record (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    knowledge_point_id uuid NOT NULL,
    activity text NOT NULL,
    correct boolean,
    score double precision,
    duration_ms integer,
    at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT study_record_activity_known CHECK ((activity = ANY (ARRAY['quiz', 'flashcard', 'recall', 'reading']))),
    CONSTRAINT study_record_duration_sign CHECK ((duration_ms >= 0)),
    CONSTRAINT study_record_score_range CHECK (((score >= (0)::double precision) AND (score <= (1)::double precision))),
    PRIMARY KEY (id)
);

CREATE TABLE weak_point_candidate (
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
    CONSTRAINT weak_point_candidate_severity_known CHECK ((severity = ANY (ARRAY['low', 'medium', 'high']))),
    PRIMARY KEY (id)
);
CREATE UNIQUE INDEX ai_job_artifact_ordinal ON ai_job_artifact (job_id, artifact_type, ordinal);
CREATE INDEX ai_job_by_error ON ai_job (error_code, created_at, id) WHERE (error_code IS NOT NULL);
CREATE INDEX ai_job_by_status ON ai_job (lifecycle_status, created_at, id);
CREATE INDEX ai_job_by_target ON ai_job (user_id, target_type, target_id, created_at, id);
CREATE INDEX ai_job_by_time ON ai_job (created_at, id);
CREATE INDEX ai_job_by_type ON ai_job (job_type, created_at, id);
CREATE INDEX ai_job_by_user ON ai_job (user_id, created_at, id);
CREATE INDEX ai_job_dependency_parent ON ai_job_dependency (after_job_id);
CREATE INDEX ai_job_expired ON ai_job (id) WHERE (lifecycle_status = 'expired');
CREATE UNIQUE INDEX ai_job_idempotency ON ai_job (user_id, job_type, idempotency_key);
CREATE INDEX ai_job_leased ON ai_job (lock_until) WHERE (lifecycle_status = ANY (ARRAY['locked', 'running']));
CREATE INDEX ai_job_queued ON ai_job (lane, queue_name, rank_at) WHERE (lifecycle_status = 'queued');
CREATE UNIQUE INDEX ai_job_result_key ON ai_job_result (result_key);
CREATE INDEX ai_job_snapshot_expiry ON ai_job_snapshot (expires_at);
CREATE INDEX ai_job_uncompleted ON ai_job (finished_at) WHERE ((lifecycle_status = ANY (ARRAY['cancelled', 'failed', 'succeeded'])) AND (completed_at IS NULL));
CREATE INDEX ai_job_unfinished ON ai_job (user_id) WHERE (lifecycle_status <> ALL (ARRAY['cancelled', 'failed', 'succeeded']));
CREATE UNIQUE INDEX ai_job_unfinished_retry ON ai_job (retried_from_job_id) WHERE ((retried_from_job_id IS NOT NULL) AND (lifecycle_status <> ALL (ARRAY['cancelled', 'failed', 'succeeded'])));
CREATE INDEX ai_learning_analysis_by_user ON ai_learning_analysis (user_id, created_at, id);
CREATE UNIQUE INDEX ai_learning_analysis_ordinal ON ai_learning_analysis (job_id, ordinal);
CREATE INDEX ai_usage_log_by_time ON ai_usage_log (started_at);
CREATE INDEX ai_usage_log_by_user ON ai_usage_log (user_id, started_at);
CREATE UNIQUE INDEX ai_usage_log_call ON ai_usage_log (job_id, call_id);
CREATE INDEX flashcard_by_base ON flashcard (knowledge_base_id, created_at, id);
CREATE UNIQUE INDEX flashcard_candidate_ordinal ON flashcard_candidate (job_id, ordinal);
CREATE UNIQUE INDEX flashcard_content ON flashcard (knowledge_base_id, content_hash);
CREATE INDEX job_transition_at ON job_transition (at);
CREATE INDEX job_transition_job ON job_transition (job_id, id);
CREATE INDEX knowledge_base_by_user ON knowledge_base (user_id, created_at, id);
CREATE INDEX knowledge_point_position ON knowledge_point (knowledge_base_id, "position", id);
CREATE INDEX material_by_user ON material (user_id, created_at, id);
CREATE INDEX next_action_recommendation_by_user ON next_action_recommendation (user_id, created_at, id);
CREATE UNIQUE INDEX next_action_recommendation_ordinal ON next_action_recommendation (job_id, ordinal);
CREATE INDEX notification_by_user ON notification (user_id, created_at, id);
CREATE UNIQUE INDEX notification_id ON notification (id);
CREATE INDEX outbox_event_dead ON outbox_event (id) WHERE (status = 'dead');
CREATE UNIQUE INDEX outbox_event_dedupe ON outbox_event (dedupe_key);
CREATE INDEX outbox_event_pending ON outbox_event (rank_at, id) WHERE (status = 'pending');
CREATE INDEX outbox_event_processing ON outbox_event (locked_at) WHERE (status = 'processing');
CREATE INDEX outbox_event_published ON outbox_event (published_at) WHERE (status = 'published');
CREATE INDEX quiz_question_by_base ON quiz_question (knowledge_base_id, created_at, id);
CREATE UNIQUE INDEX quiz_question_candidate_ordinal ON quiz_question_candidate (job_id, ordinal);
CREATE UNIQUE INDEX quiz_question_content ON quiz_question (knowledge_base_id, content_hash);
CREATE INDEX recall_evaluation_by_user ON recall_evaluation (user_id, created_at, id);
CREATE UNIQUE INDEX recall_evaluation_ordinal ON recall_evaluation (job_id, ordinal);
CREATE INDEX study_record_by_point ON study_record (user_id, knowledge_point_id, at);
CREATE INDEX study_record_by_user ON study_record (user_id, at, id);
CREATE INDEX study_record_point ON study_record (knowledge_point_id);
CREATE INDEX material_base ON material (knowledge_base_id);
CREATE INDEX weak_point_candidate_by_user ON weak_point_candidate (user_id, created_at, id);
CREATE UNIQUE INDEX weak_point_candidate_ordinal ON weak_point_candidate (job_id, ordinal);
ALTER TABLE ai_job_artifact ADD CONSTRAINT ai_job_artifact_job_id_fkey FOREIGN KEY (job_id) REFERENCES ai_job(id) ON DELETE CASCADE;
ALTER TABLE ai_job_dependency ADD CONSTRAINT ai_job_dependency_after_job_id_fkey FOREIGN KEY (after_job_id) REFERENCES ai_job(id) ON DELETE CASCADE;
ALTER TABLE ai_job_dependency ADD CONSTRAINT ai_job_dependency_job_id_fkey FOREIGN KEY (job_id) REFERENCES ai_job(id) ON DELETE CASCADE;
ALTER TABLE ai_job_input ADD CONSTRAINT ai_job_input_job_id_fkey FOREIGN KEY (job_id) REFERENCES ai_job(id) ON DELETE CASCADE;
ALTER TABLE ai_job_reservation ADD CONSTRAINT ai_job_reservation_job_id_fkey FOREIGN KEY (job_id) REFERENCES ai_job(id) ON DELETE CASCADE;
ALTER TABLE ai_job_result ADD CONSTRAINT ai_job_result_job_id_fkey FOREIGN KEY (job_id) REFERENCES ai_job(id) ON DELETE CASCADE;
ALTER TABLE ai_job_snapshot ADD CONSTRAINT ai_job_snapshot_job_id_fkey FOREIGN KEY (job_id) REFERENCES ai_job(id) ON DELETE CASCADE;
ALTER TABLE ai_learning_analysis ADD CONSTRAINT ai_learning_analysis_job_id_fkey FOREIGN KEY (job_id) REFERENCES ai_job(id) ON DELETE CASCADE;
ALTER TABLE ai_usage_log ADD CONSTRAINT ai_usage_log_job_id_fkey FOREIGN KEY (job_id) REFERENCES ai_job(id) ON DELETE CASCADE;
ALTER TABLE flashcard_candidate ADD CONSTRAINT flashcard_candidate_job_id_fkey FOREIGN KEY (job_id) REFERENCES ai_job(id) ON DELETE CASCADE;
ALTER TABLE flashcard ADD CONSTRAINT flashcard_knowledge_base_id_fkey FOREIGN KEY (knowledge_base_id) REFERENCES knowledge_base(id) ON DELETE CASCADE;
ALTER TABLE job_transition ADD CONSTRAINT job_transition_job_id_fkey FOREIGN KEY (job_id) REFERENCES ai_job(id) ON DELETE CASCADE;
ALTER TABLE knowledge_point ADD CONSTRAINT knowledge_point_knowledge_base_id_fkey FOREIGN KEY (knowledge_base_id) REFERENCES knowledge_base(id) ON DELETE CASCADE;
ALTER TABLE material ADD CONSTRAINT material_knowledge_base_id_fkey FOREIGN KEY (knowledge_base_id) REFERENCES knowledge_base(id) ON DELETE CASCADE;
ALTER TABLE next_action_recommendation ADD CONSTRAINT next_action_recommendation_job_id_fkey FOREIGN KEY (job_id) REFERENCES ai_job(id) ON DELETE CASCADE;
ALTER TABLE notification ADD CONSTRAINT notification_job_id_fkey FOREIGN KEY (job_id) REFERENCES ai_job(id) ON DELETE CASCADE;
ALTER TABLE quiz_question_candidate ADD CONSTRAINT quiz_question_candidate_job_id_fkey FOREIGN KEY (job_id) REFERENCES ai_job(id) ON DELETE CASCADE;
ALTER TABLE quiz_question ADD CONSTRAINT quiz_question_knowledge_base_id_fkey FOREIGN KEY (knowledge_base_id) REFERENCES knowledge_base(id) ON DELETE CASCADE;
ALTER TABLE recall_evaluation ADD CONSTRAINT recall_evaluation_job_id_fkey FOREIGN KEY (job_id) REFERENCES ai_job(id) ON DELETE CASCADE;
ALTER TABLE study_record ADD CONSTRAINT study_record_knowledge_point_id_fkey FOREIGN KEY (knowledge_point_id) REFERENCES knowledge_point(id) ON DELETE CASCADE;
ALTER TABLE weak_point_candidate ADD CONSTRAINT weak_point_candidate_job_id_fkey FOREIGN KEY (job_id) REFERENCES ai_job(id) ON DELETE CASCADE;
