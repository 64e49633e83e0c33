-- Each of these rows is found by its item, never by its number alone: one index does for both.
ALTER TABLE "audit" DROP CONSTRAINT "audit_pkey", ADD CONSTRAINT "audit_pkey" PRIMARY KEY ("item_id", "id");
DROP INDEX "audit_by_item";
ALTER TABLE "attempts" DROP CONSTRAINT "attempts_pkey", ADD CONSTRAINT "attempts_pkey" PRIMARY KEY ("item_id", "id");
DROP INDEX "attempts_by_item";
ALTER TABLE "canary_effects" DROP CONSTRAINT "canary_effects_pkey", ADD CONSTRAINT "canary_effects_pkey" PRIMARY KEY ("item_id", "id");
DROP INDEX "canary_effects_by_item";

-- Most items have no key, and each of their moves wrote an entry that nobody looks for.
CREATE UNIQUE INDEX "items_dedupe_live_keyed" ON "items"("pipeline", "dedupe_key") WHERE ((ended_at IS NULL) AND (dedupe_key IS NOT NULL));
DROP INDEX "items_dedupe_live";
ALTER INDEX "items_dedupe_live_keyed" RENAME TO "items_dedupe_live";
