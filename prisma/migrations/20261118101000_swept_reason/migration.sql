-- AlterTable
ALTER TABLE "items" ADD COLUMN     "reason" TEXT,
ADD COLUMN     "reason_at" TIMESTAMPTZ(3),
ADD COLUMN     "wedged_by" TEXT;

-- CreateIndex
CREATE INDEX "items_by_reason" ON "items"("pipeline", "reason", "id") WHERE ((reason IS NOT NULL) AND (ended_at IS NULL));
