-- Packages are downloaded more often in a month than an INTEGER counts.
ALTER TABLE "skill_facts" ALTER COLUMN "downloads" TYPE BIGINT;
