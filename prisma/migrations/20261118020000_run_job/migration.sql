-- Runs of one key of a job join each other; '' is the key of a schedule's runs.
ALTER TABLE "job_executions" ADD COLUMN "join_key" TEXT NOT NULL DEFAULT '',
    ADD COLUMN "cost_cents" DOUBLE PRECISION NOT NULL DEFAULT 0;

-- Where a run stopped whose time was up.
CREATE TABLE "job_cursors" (
    "job" TEXT NOT NULL,
    "join_key" TEXT NOT NULL,
    "input" JSONB NOT NULL,
    "cursor" JSONB NOT NULL,
    "stored_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "job_cursors_pkey" PRIMARY KEY ("job", "join_key")
);
