-- CreateSchema
CREATE SCHEMA IF NOT EXISTS "public";

-- CreateTable
CREATE TABLE "items" (
    "id" UUID NOT NULL,
    "pipeline" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "visit" INTEGER NOT NULL DEFAULT 1,
    "epoch" INTEGER NOT NULL DEFAULT 1,
    "version" INTEGER NOT NULL DEFAULT 1,
    "start_after" TIMESTAMPTZ(3),
    "start_tries" INTEGER NOT NULL DEFAULT 0,
    "started" BOOLEAN NOT NULL DEFAULT false,
    "accepted_at" TIMESTAMPTZ(3),
    "run_ended_at" TIMESTAMPTZ(3),
    "wake_after" TIMESTAMPTZ(3),
    "wake_tries" INTEGER NOT NULL DEFAULT 0,
    "priority" INTEGER NOT NULL DEFAULT 0,
    "dedupe_key" TEXT,
    "dedupes_all" BOOLEAN NOT NULL DEFAULT false,
    "allow_partial" BOOLEAN NOT NULL DEFAULT false,
    "entered_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "beat_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "rescues" INTEGER NOT NULL DEFAULT 0,
    "last_rescue_at" TIMESTAMPTZ(3),
    "next_rescue_after" TIMESTAMPTZ(3),
    "examined_at" TIMESTAMPTZ(3),
    "error_class" TEXT,
    "error_message" TEXT,
    "error_stage" TEXT,
    "paused_until" TIMESTAMPTZ(3),
    "pause_reason" TEXT,
    "parked_at" TIMESTAMPTZ(3),
    "parked_why" TEXT,
    "ended_at" TIMESTAMPTZ(3),
    "end_reason" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "items_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "tasks" (
    "item_id" UUID NOT NULL,
    "visit" INTEGER NOT NULL,
    "stage" TEXT NOT NULL,
    "unit" TEXT NOT NULL DEFAULT '',
    "position" INTEGER NOT NULL DEFAULT 0,
    "status" TEXT NOT NULL DEFAULT 'waiting',
    "fence" INTEGER NOT NULL DEFAULT 0,
    "attempt" INTEGER NOT NULL DEFAULT 0,
    "claim_id" UUID,
    "token" BYTEA,
    "scheduled_at" TIMESTAMPTZ(3),
    "worker" TEXT,
    "started_at" TIMESTAMPTZ(3),
    "beat_at" TIMESTAMPTZ(3),
    "progress" JSONB,
    "progress_at" TIMESTAMPTZ(3),
    "checkpoint" JSONB,
    "errors" INTEGER NOT NULL DEFAULT 0,
    "crashes" INTEGER NOT NULL DEFAULT 0,
    "suspect" BOOLEAN NOT NULL DEFAULT false,
    "sole_crashes" INTEGER NOT NULL DEFAULT 0,
    "rescues" INTEGER NOT NULL DEFAULT 0,
    "outcome" TEXT,
    "note" JSONB,
    "error_class" TEXT,
    "error_message" TEXT,
    "retry_at" TIMESTAMPTZ(3),
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "tasks_pkey" PRIMARY KEY ("item_id","visit","stage","unit")
);

-- CreateTable
CREATE TABLE "attempts" (
    "id" BIGSERIAL NOT NULL,
    "item_id" UUID NOT NULL,
    "visit" INTEGER NOT NULL,
    "stage" TEXT NOT NULL,
    "unit" TEXT NOT NULL DEFAULT '',
    "attempt" INTEGER NOT NULL,
    "fence" INTEGER NOT NULL,
    "worker" TEXT,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "result" TEXT NOT NULL,
    "error_class" TEXT,
    "error_message" TEXT,

    CONSTRAINT "attempts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "decisions" (
    "id" TEXT NOT NULL,
    "item_id" UUID NOT NULL,
    "visit" INTEGER NOT NULL,
    "state" TEXT NOT NULL,
    "outcome" TEXT NOT NULL,
    "reason" TEXT,
    "actor" TEXT NOT NULL,
    "decided_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "decisions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "audit" (
    "id" BIGSERIAL NOT NULL,
    "item_id" UUID NOT NULL,
    "pipeline" TEXT NOT NULL,
    "version" INTEGER NOT NULL,
    "visit" INTEGER NOT NULL,
    "epoch" INTEGER NOT NULL,
    "from_state" TEXT,
    "to_state" TEXT NOT NULL,
    "trigger" TEXT NOT NULL,
    "actor" TEXT NOT NULL,
    "actor_type" TEXT NOT NULL,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "audit_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "holds" (
    "pipeline" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "key" TEXT NOT NULL DEFAULT '',
    "until" TIMESTAMPTZ(3) NOT NULL,
    "reason" TEXT NOT NULL,
    "set_by" TEXT NOT NULL,
    "set_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "holds_pkey" PRIMARY KEY ("pipeline","kind","key")
);

-- CreateTable
CREATE TABLE "workers" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "pid" INTEGER NOT NULL,
    "build" TEXT NOT NULL,
    "pipelines" TEXT[],
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "stopped_at" TIMESTAMPTZ(3),

    CONSTRAINT "workers_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "refusals" (
    "id" BIGSERIAL NOT NULL,
    "item_id" UUID NOT NULL,
    "pipeline" TEXT NOT NULL,
    "stage" TEXT NOT NULL,
    "unit" TEXT NOT NULL DEFAULT '',
    "fence" INTEGER NOT NULL,
    "worker" TEXT,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "refusals_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "idempotency_keys" (
    "caller" TEXT NOT NULL,
    "route" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "body_hash" TEXT NOT NULL,
    "status" INTEGER NOT NULL,
    "answer" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("caller","route","key")
);

-- CreateTable
CREATE TABLE "canaries" (
    "id" UUID NOT NULL,
    "stage_ms" INTEGER[],
    "units" INTEGER NOT NULL DEFAULT 0,
    "decision" BOOLEAN NOT NULL DEFAULT false,
    "faults" JSONB NOT NULL DEFAULT '[]',

    CONSTRAINT "canaries_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "canary_effects" (
    "id" BIGSERIAL NOT NULL,
    "item_id" UUID NOT NULL,
    "visit" INTEGER NOT NULL,
    "stage" TEXT NOT NULL,
    "unit" TEXT NOT NULL DEFAULT '',
    "attempt" INTEGER NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "canary_effects_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "items_to_start" ON "items"("start_after") WHERE (NOT started) AND (ended_at IS NULL);

-- CreateIndex
CREATE INDEX "items_to_wake" ON "items"("wake_after") WHERE (wake_after IS NOT NULL);

-- CreateIndex
CREATE INDEX "items_live" ON "items"("pipeline", "examined_at" NULLS FIRST, "id") WHERE (ended_at IS NULL);

-- CreateIndex
CREATE INDEX "items_live_by_state" ON "items"("pipeline", "state") WHERE (ended_at IS NULL);

-- CreateIndex
CREATE INDEX "items_by_owner" ON "items"("owner", "id");

-- CreateIndex
CREATE UNIQUE INDEX "items_dedupe_live" ON "items"("pipeline", "dedupe_key") WHERE (ended_at IS NULL);

-- CreateIndex
CREATE UNIQUE INDEX "items_dedupe_all" ON "items"("pipeline", "dedupe_key") WHERE (dedupes_all);

-- CreateIndex
CREATE INDEX "tasks_running" ON "tasks"("worker") WHERE (status = 'running');

-- CreateIndex
CREATE INDEX "tasks_unfinished" ON "tasks"("item_id", "visit", "stage", "position") WHERE (unit <> '' AND status = ANY (ARRAY['waiting'::text, 'running'::text]));

-- CreateIndex
CREATE INDEX "attempts_by_item" ON "attempts"("item_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "decisions_item_id_visit_state_key" ON "decisions"("item_id", "visit", "state");

-- CreateIndex
CREATE INDEX "audit_by_item" ON "audit"("item_id", "id");

-- CreateIndex
CREATE INDEX "workers_running" ON "workers"("seen_at") WHERE (stopped_at IS NULL);

-- CreateIndex
CREATE INDEX "refusals_by_item" ON "refusals"("item_id");

-- CreateIndex
CREATE INDEX "idempotency_keys_by_age" ON "idempotency_keys"("created_at");

-- CreateIndex
CREATE INDEX "canary_effects_by_item" ON "canary_effects"("item_id");

-- AddForeignKey
ALTER TABLE "tasks" ADD CONSTRAINT "tasks_item_id_fkey" FOREIGN KEY ("item_id") REFERENCES "items"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- AddForeignKey
ALTER TABLE "canaries" ADD CONSTRAINT "canaries_id_fkey" FOREIGN KEY ("id") REFERENCES "items"("id") ON DELETE CASCADE ON UPDATE NO ACTION;



-- The audit trail is written once. Even the owner of the table must drop these triggers first to change it.
CREATE FUNCTION "refuse_audit_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'audit entries are immutable: % refused', lower(TG_OP) USING ERRCODE = 'insufficient_privilege';
END;
$$;
CREATE TRIGGER "audit_no_update_or_delete" BEFORE UPDATE OR DELETE ON "audit"
  FOR EACH ROW EXECUTE FUNCTION "refuse_audit_change"();
CREATE TRIGGER "audit_no_truncate" BEFORE TRUNCATE ON "audit"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_audit_change"();
