-- AlterTable
ALTER TABLE "items" ADD COLUMN     "held_by" TEXT;

-- CreateIndex
CREATE INDEX "items_held" ON "items"("pipeline", "held_by", "id") WHERE ((held_by IS NOT NULL) AND (ended_at IS NULL));

-- CreateIndex
CREATE INDEX "items_live_by_id" ON "items"("pipeline", "id") WHERE (ended_at IS NULL);

-- CreateIndex
CREATE INDEX "attempts_latest" ON "attempts"("pipeline", "stage", "ended_at") WHERE (result = ANY (ARRAY['done'::text, 'error'::text]));
