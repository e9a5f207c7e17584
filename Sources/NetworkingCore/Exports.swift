// Methods, header field names and statuses are part of every request and response, so `import Networking` re-exports
// them: an app can write `.accept` without a dependency on swift-http-types.
@_exported public import HTTPTypes
