-- A suspect runs in a process of its own. "suspect" and "sole_crashes" are left for workers of the version before.
ALTER TABLE "tasks" ADD COLUMN     "isolated" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "own_deaths" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "place_asked_at" TIMESTAMPTZ(3);

ALTER TABLE "attempts" ADD COLUMN     "isolated" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "own_death" BOOLEAN NOT NULL DEFAULT false;

CREATE INDEX "tasks_asking_for_a_place" ON "tasks"("place_asked_at") WHERE (place_asked_at IS NOT NULL);

-- The deaths of isolated processes that /metrics counts: a handful among all attempts.
CREATE INDEX "attempts_own_deaths" ON "attempts"("pipeline", "ended_at") WHERE own_death;
