-- CreateTable
CREATE TABLE "totals" (
    "name" TEXT NOT NULL,
    "value" BIGINT NOT NULL,

    CONSTRAINT "totals_pkey" PRIMARY KEY ("name")
);

-- CreateIndex
CREATE INDEX "attempts_failed" ON "attempts"("pipeline", "stage", "error_class", "ended_at") WHERE (result = 'error'::text);
