-- The owner of discovered skills gets a name that no token can have. The first audit entry tells them from the items of a person
-- who is called discovery.
UPDATE "items" SET "owner" = 'unstuck:discovery'
WHERE "owner" = 'discovery' AND EXISTS (
  SELECT 1 FROM "audit" WHERE "audit"."item_id" = "items"."id" AND "audit"."trigger" = 'npm-discovery'
);
