/** Packages, tools and services whose names attackers imitate. A name in this list is never taken for a misspelling of
 *  another. */
export const KNOWN_NAMES: readonly string[] = // PyPI
  (
    'requests request urllib3 numpy pandas scipy matplotlib seaborn scikit-learn sklearn tensorflow pytorch torch torchvision keras transformers ' +
    'datasets tokenizers huggingface-hub openai anthropic langchain langgraph llama-index tiktoken pydantic fastapi starlette uvicorn gunicorn ' +
    'django flask jinja2 werkzeug click typer rich httpx aiohttp beautifulsoup4 bs4 lxml selenium playwright scrapy sqlalchemy alembic psycopg2 ' +
    'psycopg2-binary pymysql pymongo redis celery boto3 botocore awscli google-cloud-storage azure-storage-blob paramiko cryptography pycrypto ' +
    'pycryptodome pyjwt bcrypt passlib python-dateutil dateutil pytz pyyaml toml tomli jsonschema marshmallow pytest coverage tox black ruff ' +
    'flake8 mypy pylint isort poetry pipenv setuptools wheel virtualenv colorama tqdm loguru pillow opencv-python imageio pypdf pypdf2 pdfplumber ' +
    'reportlab openpyxl xlsxwriter python-docx python-pptx markdown markdownify pandoc networkx sympy statsmodels xgboost lightgbm nltk spacy gensim ' +
    'python-dotenv dotenv watchdog schedule apscheduler tenacity websocket websockets websocket-client grpcio protobuf kubernetes docker ansible ' +
    'discord discord.py telegram python-telegram-bot slack-sdk tweepy stripe twilio sendgrid ' +
    // npm
    'express expressjs react react-dom preact next nextjs vue nuxt angular svelte typescript javascript eslint prettier webpack rollup vite vitest ' +
    'jest mocha chai sinon cypress puppeteer lodash underscore ramda moment dayjs date-fns axios node-fetch got superagent chalk commander yargs ' +
    'inquirer ora debug dotenv cross-env rimraf mkdirp glob minimist semver uuid nanoid async bluebird rxjs redux zustand mobx graphql apollo ' +
    'mongoose mongodb mysql mysql2 sequelize typeorm prisma knex sqlite3 ioredis bullmq socket.io fastify koa hapi passport jsonwebtoken bcryptjs ' +
    'cors helmet morgan winston pino body-parser cookie-parser multer sharp jimp cheerio jsdom electron nodemon concurrently turbo lerna babel ' +
    'tailwindcss postcss autoprefixer bootstrap jquery three d3 chart.js storybook husky lint-staged zod ajv yup formik ethers web3 ' +
    // services, tools, agents
    'github gitlab bitbucket google gmail youtube facebook instagram twitter linkedin slack discord notion linear jira confluence atlassian trello ' +
    'asana airtable figma dropbox salesforce hubspot zendesk shopify paypal coinbase binance metamask polymarket solana ethereum bitcoin terraform ' +
    'postgres postgresql supabase firebase vercel netlify cloudflare heroku kubernetes jenkins grafana prometheus datadog sentry splunk elastic ' +
    'http https openapi elasticsearch kafka rabbitmq anthropic claude openai chatgpt gemini copilot cursor codex openclaw clawhub clawdbot ollama mistral perplexity ' +
    'obsidian todoist spotify whatsapp telegram microsoft windows office outlook teams sharepoint azure amazon filesystem weather calendar ' +
    'summarize summarizer translator formatter validator converter helper manager analyzer generator scanner debugger deploy testing security ' +
    'documentation markdown spreadsheet presentation calculator'
  ).split(' ');
