module github.com/argoproj/argo-cd/gitops-engine

go 1.26.3

require github.com/argoproj/gitops-engine v0.7.1-0.20251006172252-b89b0871b414
