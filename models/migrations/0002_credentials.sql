CREATE TABLE user_model_credential (
    id uuid NOT NULL PRIMARY KEY,
    version integer DEFAULT 1 NOT NULL,
    user_id uuid NOT NULL,
    label text NOT NULL,
    provider text NOT NULL,
    base_url text NOT NULL,
    ciphertext bytea NOT NULL,
    nonce bytea NOT NULL,
    key_id text NOT NULL,
    last4 text NOT NULL,
    status text DEFAULT 'active' NOT NULL,
    last_verified_at timestamptz,
    created_at timestamptz DEFAULT now() NOT NULL,
    deleted_at timestamptz,
    CONSTRAINT user_model_credential_status_known CHECK (status IN ('active', 'invalid'))
);
CREATE INDEX user_model_credential_by_user ON user_model_credential (user_id, created_at, id)
    WHERE deleted_at IS NULL;
