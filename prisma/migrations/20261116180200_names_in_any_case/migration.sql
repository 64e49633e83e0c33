-- Skills are found by their name in any case, so no two differ by case alone. The first keeps it.
UPDATE "skills" s SET "name" = s."name" || '-' || s."id"
WHERE EXISTS (SELECT 1 FROM "skills" first WHERE lower(first."name") = lower(s."name") AND (first."published_at", first."id") < (s."published_at", s."id"));
CREATE UNIQUE INDEX "skills_by_name_in_any_case" ON "skills"(lower("name"));
