-- AlterTable
ALTER TABLE "attempts" ADD COLUMN     "pipeline" TEXT NOT NULL DEFAULT '';

-- AlterTable
ALTER TABLE "audit" ADD COLUMN     "owner" TEXT NOT NULL DEFAULT '',
ADD COLUMN     "xact" xid8 NOT NULL DEFAULT pg_current_xact_id();

-- AlterTable
ALTER TABLE "holds" ADD COLUMN     "wake_from" UUID;

-- AlterTable
ALTER TABLE "workers" ADD COLUMN     "deaths" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "died_at" TIMESTAMPTZ(3),
ADD COLUMN     "lock_key" BIGINT,
ADD COLUMN     "seen_gone_at" TIMESTAMPTZ(3);

-- CreateTable
CREATE TABLE "receipts" (
    "id" BIGSERIAL NOT NULL,
    "item_id" UUID NOT NULL,
    "pipeline" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "visit" INTEGER NOT NULL,
    "epoch" INTEGER NOT NULL,
    "stage" TEXT,
    "unit" TEXT NOT NULL DEFAULT '',
    "reason" TEXT NOT NULL,
    "sentence" TEXT NOT NULL,
    "last_sign_at" TIMESTAMPTZ(3) NOT NULL,
    "seen_at" TIMESTAMPTZ(3) NOT NULL,
    "acted_at" TIMESTAMPTZ(3) NOT NULL,
    "moving_at" TIMESTAMPTZ(3),
    "stages_again" TEXT[],
    "actor" TEXT NOT NULL,
    "actor_type" TEXT NOT NULL,
    "result" TEXT NOT NULL DEFAULT 'waiting',

    CONSTRAINT "receipts_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "job_executions" (
    "id" BIGSERIAL NOT NULL,
    "job" TEXT NOT NULL,
    "run_id" TEXT,
    "window_key" TEXT,
    "status" TEXT NOT NULL DEFAULT 'running',
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "timeout_at" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),
    "runs" INTEGER NOT NULL DEFAULT 1,
    "idle" BOOLEAN NOT NULL DEFAULT false,
    "result" JSONB NOT NULL DEFAULT '{}',
    "phases" JSONB NOT NULL DEFAULT '{}',
    "errors" JSONB NOT NULL DEFAULT '[]',

    CONSTRAINT "job_executions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "schedule_counts" (
    "schedule" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "skipped" INTEGER NOT NULL,
    "missed" INTEGER NOT NULL,
    "seen_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "schedule_counts_pkey" PRIMARY KEY ("schedule")
);

-- CreateTable
CREATE TABLE "metrics_hourly" (
    "pipeline" TEXT NOT NULL,
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "received" INTEGER NOT NULL DEFAULT 0,
    "finished" INTEGER NOT NULL DEFAULT 0,
    "failed" INTEGER NOT NULL DEFAULT 0,
    "timed_out" INTEGER NOT NULL DEFAULT 0,
    "by_class" JSONB NOT NULL DEFAULT '{}',
    "duration_ms" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "metrics_hourly_pkey" PRIMARY KEY ("pipeline","hour")
);

-- CreateTable
CREATE TABLE "metrics_daily" (
    "pipeline" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "received" INTEGER NOT NULL DEFAULT 0,
    "finished" INTEGER NOT NULL DEFAULT 0,
    "failed" INTEGER NOT NULL DEFAULT 0,
    "timed_out" INTEGER NOT NULL DEFAULT 0,
    "by_class" JSONB NOT NULL DEFAULT '{}',
    "duration_ms" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "metrics_daily_pkey" PRIMARY KEY ("pipeline","day")
);

-- CreateTable
CREATE TABLE "breakers" (
    "pipeline" TEXT NOT NULL,
    "class" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "stages" TEXT[],
    "reason" TEXT NOT NULL,
    "opened_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "closed_at" TIMESTAMPTZ(3),
    "next_pass_at" TIMESTAMPTZ(3) NOT NULL,
    "probing" BOOLEAN NOT NULL DEFAULT false,
    "probe_every_ms" INTEGER NOT NULL,
    "per_second" DOUBLE PRECISION NOT NULL DEFAULT 0,
    "successes" INTEGER NOT NULL DEFAULT 0,
    "round" INTEGER NOT NULL DEFAULT 1,
    "waiting" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "breakers_pkey" PRIMARY KEY ("pipeline","class")
);

-- CreateTable
CREATE TABLE "outbox" (
    "id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "pipeline" TEXT,
    "item_id" UUID,
    "owner" TEXT,
    "sentence" TEXT NOT NULL,
    "payload" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "routed_at" TIMESTAMPTZ(3),

    CONSTRAINT "outbox_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "deliveries" (
    "event_id" TEXT NOT NULL,
    "channel" TEXT NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "tries" INTEGER NOT NULL DEFAULT 0,
    "delivered_at" TIMESTAMPTZ(3),
    "failed_at" TIMESTAMPTZ(3),
    "last_error" TEXT,

    CONSTRAINT "deliveries_pkey" PRIMARY KEY ("event_id","channel")
);

-- CreateTable
CREATE TABLE "operator_actions" (
    "id" BIGSERIAL NOT NULL,
    "action" TEXT NOT NULL,
    "target" TEXT NOT NULL,
    "reason" TEXT,
    "actor" TEXT NOT NULL,
    "actor_type" TEXT NOT NULL,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "operator_actions_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "receipts_by_item" ON "receipts"("item_id", "id");

-- CreateIndex
CREATE INDEX "receipts_by_time" ON "receipts"("seen_at");

-- CreateIndex
CREATE INDEX "receipts_waiting" ON "receipts"("item_id") WHERE (moving_at IS NULL AND result = 'waiting'::text);

-- CreateIndex
CREATE UNIQUE INDEX "job_executions_run" ON "job_executions"("run_id");

-- CreateIndex
CREATE INDEX "job_executions_by_job" ON "job_executions"("job", "id");

-- CreateIndex
CREATE UNIQUE INDEX "job_executions_window" ON "job_executions"("job", "window_key") WHERE (status = ANY (ARRAY['running'::text, 'completed'::text]));

-- CreateIndex
CREATE INDEX "outbox_by_age" ON "outbox"("created_at", "id");

-- CreateIndex
CREATE INDEX "outbox_unrouted" ON "outbox"("created_at") WHERE (routed_at IS NULL);

-- CreateIndex
CREATE INDEX "deliveries_due" ON "deliveries"("channel", "due_at") WHERE (delivered_at IS NULL AND failed_at IS NULL);

-- CreateIndex
CREATE INDEX "deliveries_failed" ON "deliveries"("event_id") WHERE (failed_at IS NOT NULL);

-- CreateIndex
CREATE INDEX "operator_actions_by_target" ON "operator_actions"("target", "id");

-- CreateIndex
CREATE INDEX "attempts_by_time" ON "attempts" USING BRIN ("ended_at");

-- CreateIndex
CREATE INDEX "audit_by_owner" ON "audit"("owner", "xact", "id");

-- CreateIndex
CREATE INDEX "audit_by_xact" ON "audit"("xact", "id");

-- CreateIndex
CREATE INDEX "audit_by_time" ON "audit" USING BRIN ("at");

-- DropIndex
DROP INDEX "items_live_by_state";

-- CreateIndex
CREATE INDEX "items_live_by_state" ON "items"("pipeline", "state", "id") WHERE (ended_at IS NULL);

-- CreateIndex
CREATE INDEX "items_ended" ON "items"("pipeline", "id") WHERE (ended_at IS NOT NULL);

-- CreateIndex
CREATE INDEX "items_ended_by_state" ON "items"("pipeline", "state", "id") WHERE (ended_at IS NOT NULL);

-- CreateIndex
CREATE INDEX "items_by_error" ON "items"("error_class", "id") WHERE (error_class IS NOT NULL);

-- AddForeignKey
ALTER TABLE "deliveries" ADD CONSTRAINT "deliveries_event_id_fkey" FOREIGN KEY ("event_id") REFERENCES "outbox"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- What operators did is written once as well.
CREATE TRIGGER "operator_actions_no_update_or_delete" BEFORE UPDATE OR DELETE ON "operator_actions"
  FOR EACH ROW EXECUTE FUNCTION "refuse_audit_change"();
CREATE TRIGGER "operator_actions_no_truncate" BEFORE TRUNCATE ON "operator_actions"
  FOR EACH STATEMENT EXECUTE FUNCTION "refuse_audit_change"();

-- Without it, what was written since the last vacuum is read whole by every look at the last minutes.
ALTER INDEX "attempts_by_time" SET (autosummarize = on);
ALTER INDEX "audit_by_time" SET (autosummarize = on);
