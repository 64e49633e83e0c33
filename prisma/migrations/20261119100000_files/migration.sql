-- A GIN index of owner and words needs it, so that a search reads the words of one owner alone.
CREATE EXTENSION IF NOT EXISTS btree_gin;

CREATE TABLE "upload_batches" (
    "id" UUID NOT NULL,
    "owner" TEXT NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'active',
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "files" INTEGER NOT NULL,
    "unconfirmed" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "upload_batches_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "upload_batches_to_expire" ON "upload_batches"("expires_at") WHERE (status = 'active'::text);
CREATE INDEX "upload_batches_active" ON "upload_batches"("owner") WHERE (status = 'active'::text);
CREATE INDEX "upload_batches_of_owner" ON "upload_batches"("owner", "id");

CREATE TABLE "files" (
    "id" UUID NOT NULL,
    "owner" TEXT NOT NULL,
    "batch_id" UUID NOT NULL,
    "client_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "mime_type" TEXT NOT NULL,
    "size_bytes" BIGINT NOT NULL,
    "sha256" TEXT,
    "blob_key" TEXT NOT NULL,
    "email" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "confirmed_at" TIMESTAMPTZ(3),
    "format" TEXT,
    "pages" INTEGER,
    "width" INTEGER,
    "height" INTEGER,
    "language" TEXT,
    "chunks" INTEGER,
    "warned_at" TIMESTAMPTZ(3),
    "deleting_at" TIMESTAMPTZ(3),

    CONSTRAINT "files_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "files_blob_key" ON "files"("blob_key");
CREATE UNIQUE INDEX "files_client_id" ON "files"("batch_id", "client_id");
CREATE INDEX "files_by_name" ON "files"("owner", "name");
CREATE INDEX "files_by_hash" ON "files"("owner", "sha256") WHERE (sha256 IS NOT NULL);
CREATE INDEX "files_to_delete" ON "files"("deleting_at") WHERE (deleting_at IS NOT NULL);

CREATE TABLE "file_texts" (
    "file_id" UUID NOT NULL,
    "parts" JSONB NOT NULL,
    "chars" INTEGER NOT NULL,
    "is_recognized" BOOLEAN NOT NULL DEFAULT false,
    "is_truncated" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "file_texts_pkey" PRIMARY KEY ("file_id")
);

CREATE TABLE "file_chunks" (
    "file_id" UUID NOT NULL,
    "seq" INTEGER NOT NULL,
    "owner" TEXT NOT NULL,
    "text" TEXT NOT NULL,
    "title" TEXT,
    "page" INTEGER,
    "tokens" INTEGER NOT NULL,
    "words" tsvector NOT NULL,
    "model" TEXT,
    "vector" BYTEA,

    CONSTRAINT "file_chunks_pkey" PRIMARY KEY ("file_id","seq")
);
CREATE INDEX "file_chunks_words" ON "file_chunks" USING GIN ("owner", "words");

ALTER TABLE "files" ADD CONSTRAINT "files_id_fkey" FOREIGN KEY ("id") REFERENCES "items"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
ALTER TABLE "files" ADD CONSTRAINT "files_batch_id_fkey" FOREIGN KEY ("batch_id") REFERENCES "upload_batches"("id") ON DELETE NO ACTION ON UPDATE NO ACTION;
ALTER TABLE "file_texts" ADD CONSTRAINT "file_texts_file_id_fkey" FOREIGN KEY ("file_id") REFERENCES "files"("id") ON DELETE CASCADE ON UPDATE NO ACTION;
ALTER TABLE "file_chunks" ADD CONSTRAINT "file_chunks_file_id_fkey" FOREIGN KEY ("file_id") REFERENCES "files"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- An owner's files by state and time of the last move, for the figures that an owner sees. Of that pipeline alone: every index is
-- written again with every move of an item.
CREATE INDEX "files_of_owner" ON "items"("owner", "state", "updated_at") WHERE (pipeline = 'file'::text);

-- The files of one owner that are being deleted, which are taken off the owner's figures.
CREATE INDEX "files_deleting_of_owner" ON "files"("owner") WHERE (deleting_at IS NOT NULL);

-- A walk over the blob store. Its figures are those of orphan blobs by owner, and the last walk that has ended is shown.
CREATE TABLE "orphan_scans" (
    "id" UUID NOT NULL,
    "is_dry_run" BOOLEAN NOT NULL,
    "batches" INTEGER NOT NULL DEFAULT 0,
    "began_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "ended_at" TIMESTAMPTZ(3),

    CONSTRAINT "orphan_scans_pkey" PRIMARY KEY ("id")
);

CREATE TABLE "orphan_figures" (
    "scan_id" UUID NOT NULL,
    "owner_key" TEXT NOT NULL,
    "count" INTEGER NOT NULL,
    "total_size" BIGINT NOT NULL,
    "samples" TEXT[] NOT NULL,

    CONSTRAINT "orphan_figures_pkey" PRIMARY KEY ("scan_id","owner_key")
);
ALTER TABLE "orphan_figures" ADD CONSTRAINT "orphan_figures_scan_id_fkey" FOREIGN KEY ("scan_id") REFERENCES "orphan_scans"("id") ON DELETE CASCADE ON UPDATE NO ACTION;

-- Expired batches whose unconfirmed files are still to be settled.
CREATE INDEX "upload_batches_to_settle" ON "upload_batches"("expires_at") WHERE (status = 'expired'::text AND unconfirmed > 0);

-- The files of all owners that ended last. Of ended rows alone, so that an item is written to it once.
CREATE INDEX "files_ended" ON "items"("state", "ended_at") WHERE (pipeline = 'file'::text AND ended_at IS NOT NULL);
