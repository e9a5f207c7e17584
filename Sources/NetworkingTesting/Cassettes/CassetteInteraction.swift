public import HTTPTypes
import Networking

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension Cassette {
    /// A request and its response, as hooks see and change them.
    ///
    /// Secrets are hidden in it, but in ``Options/afterCapture``, which gets what was sent and received.
    public struct Interaction: Sendable, Hashable {
        /// What was asked.
        public var request: Request
        /// What was answered.
        public var response: Response
        /// When the request was sent, by the environment's clock.
        public var date: Date
        /// How long the response took, to the millisecond.
        public var duration: Duration
        /// On whose behalf it was sent: the users of a recording are counted from 1; nil for nobody's, and where they
        /// have names.
        public var principal: Int? {
            if case .number(let number) = user { number } else { nil }
        }
        /// On whose behalf it was sent, by the name that ``Options/principalName`` gives; nil without one.
        public var principalName: String? {
            if case .name(let name) = user { name } else { nil }
        }
        var user: User?
        /// Whether it is left out of the recording; hooks set it.
        public var isDiscarded = false
    }
}

extension Cassette.Interaction {
    /// A request of a cassette.
    public struct Request: Sendable, Hashable {
        /// The method.
        public var method: HTTPRequest.Method
        /// The whole URL.
        public var url: String
        /// The header fields.
        public var headerFields: HTTPFields
        /// The body; empty where there is none, and where ``missingBody`` says why it is not here.
        public var body: Data
        /// Why the body is not here; nil when it is.
        public var missingBody: String?

        /// Creates a request.
        ///
        /// - Parameters:
        ///   - method: The method.
        ///   - url: The whole URL.
        ///   - headerFields: The header fields.
        ///   - body: The body.
        public init(
            method: HTTPRequest.Method = .get,
            url: String,
            headerFields: HTTPFields = [:],
            body: Data = Data()
        ) {
            self.method = method
            self.url = url
            self.headerFields = headerFields
            self.body = body
        }
    }

    /// A response of a cassette.
    public struct Response: Sendable, Hashable {
        /// The status.
        public var status: HTTPResponse.Status
        /// The header fields.
        public var headerFields: HTTPFields
        /// The body, decoded; empty where ``missingBody`` says why it is not here.
        public var body: Data
        /// Why the body is not here; nil when it is.
        ///
        /// A response without its body cannot be replayed.
        public var missingBody: String?
        /// Whether the body ends where its reader left, as one of a stream of events does; a replay ends there with an
        /// error.
        public var isPartial = false

        /// Creates a response.
        ///
        /// - Parameters:
        ///   - status: The status.
        ///   - headerFields: The header fields.
        ///   - body: The body.
        public init(status: HTTPResponse.Status = .ok, headerFields: HTTPFields = [:], body: Data = Data()) {
            self.status = status
            self.headerFields = headerFields
            self.body = body
        }
    }
}

extension Cassette.Interaction: CustomStringConvertible, CustomReflectable {
    /// The request's method and URL, and the status: `GET https://api.example.com/user: 200`.
    public var description: String {
        "\(request): \(response.status.code)"
    }

    /// What a dump shows: no secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["request": request, "response": response])
    }
}

extension Cassette.Interaction.Request: CustomStringConvertible, CustomReflectable {
    /// Method and URL, the values of sensitive query items hidden.
    public var description: String {
        PrintableText.cut(
            PrintableText.singleLine("\(method.rawValue) \(Redaction.standard.reference(url))"),
            to: 2_048
        )
    }

    /// What a dump shows: no secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["request": description, "body": "\(body.count) bytes"])
    }
}

extension Cassette.Interaction.Response: CustomStringConvertible, CustomReflectable {
    /// The status and how long the body is.
    public var description: String {
        "\(status.code), \(body.count) bytes"
    }

    /// What a dump shows: no secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["response": description])
    }
}
