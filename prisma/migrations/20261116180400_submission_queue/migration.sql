-- The queue of submissions in its order: a place in it is counted from its front, not over everything that is live.
CREATE INDEX "submissions_queue" ON "items"("priority" DESC, "id") WHERE ((pipeline = 'submission'::text) AND (ended_at IS NULL) AND (parked_at IS NULL));
