public import FoundationForNetworking
public import HTTPTypes
import NetworkingCore
import NetworkingInspector

extension Cassette {
    /// A request and its response, as hooks see and change them.
    ///
    /// Secrets are redacted, except in ``Options/afterCapture``, which receives the unredacted request and response.
    public struct Interaction: Sendable, Hashable {
        /// The request.
        public var request: Request
        /// The response.
        public var response: Response
        /// When the request was sent, by the environment's clock.
        public var date: Date
        /// How long the response took, to the millisecond.
        public var duration: Duration
        /// The number of the user that the request was sent for, counted from 1; nil without a user, or if users have
        /// names.
        public var principal: Int? {
            if case .number(let number) = user { number } else { nil }
        }
        /// The name from ``Options/principalName`` of the user that the request was sent for; nil if there is none.
        public var principalName: String? {
            if case .name(let name) = user { name } else { nil }
        }
        var user: User?
        /// Whether the interaction is left out of the recording; set by hooks.
        public var isDiscarded = false
    }
}

extension Cassette.Interaction {
    /// A request of a cassette.
    public struct Request: Sendable, Hashable {
        /// The method.
        public var method: HTTPRequest.Method
        /// The complete URL.
        public var url: String
        /// The header fields.
        public var headerFields: HTTPFields
        /// The body; empty if there is none, or if ``missingBody`` explains why it is missing.
        public var body: Data
        /// The reason why the body is missing; nil if it is present.
        public var missingBody: String?

        /// Creates a request.
        ///
        /// - Parameters:
        ///   - method: The method.
        ///   - url: The complete URL.
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
        /// The decoded body; empty if ``missingBody`` explains why it is missing.
        public var body: Data
        /// The reason why the body is missing; nil if it is present.
        ///
        /// A response without its body cannot be replayed.
        public var missingBody: String?
        /// Whether the body ends where its reader stopped, as with a stream of events; a replay ends there with an
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
    /// The request's method and URL, and the status, such as `GET https://api.example.com/user: 200`.
    public var description: String {
        "\(request): \(response.status.code)"
    }

    /// A dump without secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["request": request, "response": response])
    }
}

extension Cassette.Interaction.Request: CustomStringConvertible, CustomReflectable {
    /// The method and URL, with the values of sensitive query items redacted.
    public var description: String {
        PrintableText.cut(
            PrintableText.singleLine("\(method.rawValue) \(Redaction.standard.reference(url))"),
            to: 2_048
        )
    }

    /// A dump without secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["request": description, "body": "\(body.count) bytes"])
    }
}

extension Cassette.Interaction.Response: CustomStringConvertible, CustomReflectable {
    /// The status and the length of the body.
    public var description: String {
        "\(status.code), \(body.count) bytes"
    }

    /// A dump without secrets.
    public var customMirror: Mirror {
        Mirror(self, children: ["response": description])
    }
}
