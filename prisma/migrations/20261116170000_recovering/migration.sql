-- AlterTable
ALTER TABLE "tasks" ADD COLUMN     "recovering" BOOLEAN NOT NULL DEFAULT false;
