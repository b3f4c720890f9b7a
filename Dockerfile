# netfold on the CPU: docker build -t netfold . && docker run --rm -v "$PWD:/data" netfold --help
FROM python:3.12-slim

WORKDIR /opt/netfold
# torch alone first: the CPU build, and a layer that changes rarely
RUN pip install --no-cache-dir torch --index-url https://download.pytorch.org/whl/cpu
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
COPY benchmarks/tables ./benchmarks/tables
RUN pip install --no-cache-dir '.[viz,formats,search,serve,postgres]'

RUN useradd --create-home netfold
USER netfold
WORKDIR /data
ENTRYPOINT ["netfold"]
CMD ["--help"]
