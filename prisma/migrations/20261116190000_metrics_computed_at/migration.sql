-- Figures are shown with their age. Of rows that are there it is not known; they were computed before this.
ALTER TABLE "metrics_hourly" ADD COLUMN "computed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT now();
