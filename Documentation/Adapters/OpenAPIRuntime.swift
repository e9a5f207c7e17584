// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation, AvoidRetroactiveConformances

// Copy this file into the target that has the generated client. It needs the products OpenAPIRuntime of
// swift-openapi-runtime and NetworkingOpenAPI of swift-networking.

import HTTPTypes
import Networking
import NetworkingOpenAPI
import OpenAPIRuntime

/// A transport of a generated client over a stack: `StackTransport(over: network)`.
typealias StackTransport = OpenAPITransport<HTTPBody>

/// A middleware of a generated client, made of modifiers: `StackMiddleware { $0.retry().logged() }`.
typealias StackMiddleware = OpenAPIMiddleware<HTTPBody>

extension OpenAPITransport: @retroactive ClientTransport where Body == HTTPBody {}

extension OpenAPIMiddleware: @retroactive ClientMiddleware where Body == HTTPBody {}

// With this conformance, `error.networkingError` and `error.isCancelled` read the error of the stack.
extension ClientError: @retroactive ErrorWrapper {}

extension HTTPBody: @retroactive OpenAPIBody {
    public var byteCount: Int64? {
        switch length {
        case .known(let count): count
        case .unknown: nil
        }
    }

    public var isReplayable: Bool {
        iterationBehavior == .multiple
    }

    public convenience init(chunks: OpenAPIChunks) {
        self.init(
            chunks,
            length: chunks.byteCount.map { .known($0) } ?? .unknown,
            iterationBehavior: chunks.isReplayable ? .multiple : .single
        )
    }
}
