// Methods, header field names and statuses are part of every request and response here, so `import Networking` brings
// them along: an app need not depend on swift-http-types to write `.accept`.
@_exported public import HTTPTypes
