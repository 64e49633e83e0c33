-- AlterTable
ALTER TABLE "installation" ADD COLUMN     "queues_renewed_at" TIMESTAMPTZ(3),
ADD COLUMN     "renewed_to" UUID,
ADD COLUMN     "renewed_to_pipeline" TEXT;
