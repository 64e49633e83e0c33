-- The submissions that an owner has on their way are counted before more are taken. Of that pipeline alone: every index is
-- written again with every move of an item.
CREATE INDEX "submissions_live_by_owner" ON "items"("owner") WHERE ((pipeline = 'submission'::text) AND (ended_at IS NULL));
