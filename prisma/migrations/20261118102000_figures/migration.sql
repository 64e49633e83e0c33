-- AlterTable
-- The default is set in a second step, so that rows that are there are not rewritten. They keep a null and are counted by the next
-- migration. Every attempt that is written after this transaction has its own transaction here, also if an older version writes it.
ALTER TABLE "attempts" ADD COLUMN     "outcome" TEXT,
ADD COLUMN     "xact" xid8;
ALTER TABLE "attempts" ALTER COLUMN "xact" SET DEFAULT pg_current_xact_id();

-- CreateTable
CREATE TABLE "figures" (
    "span" TEXT NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL,
    "pipeline" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "stage" TEXT NOT NULL,
    "outcome" TEXT NOT NULL,
    "class" TEXT NOT NULL,
    "count" BIGINT NOT NULL,
    "sum_ms" BIGINT NOT NULL,
    "buckets" BIGINT[],

    CONSTRAINT "figures_pkey" PRIMARY KEY ("span","at","pipeline","kind","stage","outcome","class")
);

-- CreateTable
CREATE TABLE "figure_cursors" (
    "source" TEXT NOT NULL,
    "xact" xid8 NOT NULL,
    "row_id" BIGINT NOT NULL,
    "begins_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "as_of" TIMESTAMPTZ(3),
    "mark_xact" xid8,
    "mark_at" TIMESTAMPTZ(3),
    "since" TIMESTAMPTZ(3),

    CONSTRAINT "figure_cursors_pkey" PRIMARY KEY ("source")
);

-- CreateIndex
CREATE INDEX "attempts_by_xact" ON "attempts"("xact", "id") WHERE (xact IS NOT NULL);
