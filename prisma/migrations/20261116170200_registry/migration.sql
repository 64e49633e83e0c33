-- When a skill's newest version was published: the registry lists by it.
ALTER TABLE "skills" ADD COLUMN "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP;
UPDATE "skills" s SET "updated_at" = COALESCE((SELECT max(v."published_at") FROM "skill_versions" v WHERE v."skill_id" = s."id"), s."published_at");

-- CreateIndex
CREATE INDEX "skills_by_update" ON "skills"("updated_at", "id");

-- A notice for one person alone, at this address.
ALTER TABLE "outbox" ADD COLUMN "mail_to" TEXT;
