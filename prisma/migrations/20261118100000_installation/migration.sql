-- CreateTable
CREATE TABLE "installation" (
    "is_only" BOOLEAN NOT NULL DEFAULT true,
    "id" UUID NOT NULL DEFAULT gen_random_uuid(),
    "name" TEXT,
    "cluster" TEXT,
    "database_oid" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "installation_pkey" PRIMARY KEY ("is_only"),
    CONSTRAINT "installation_one_row" CHECK ("is_only")
);
