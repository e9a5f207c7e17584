public import HTTPTypes

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A response as a cache keeps it.
public struct CachedEntry: Sendable, Hashable, Identifiable {
    /// Tells the entries of a key apart.
    public let id: UUID
    /// The status and the header fields.
    public var response: HTTPResponse
    /// The body, or the part of it that is there.
    public var body: Data
    /// Which part of the representation the body is; nil for all of it.
    public var part: Part?
    /// The header fields of the request by which the response was chosen: those that its Vary names, in lower case.
    public var varying: [String: String]
    /// When the request was sent.
    public var requestDate: Date
    /// When the response came.
    public var responseDate: Date

    /// A part of a representation.
    public struct Part: Sendable, Hashable, Codable {
        /// Its bytes.
        public var range: Range<Int>
        /// How many bytes there are altogether; nil when the server does not say.
        public var length: Int?

        /// Creates a part.
        ///
        /// - Parameters:
        ///   - range: Its bytes.
        ///   - length: How many there are altogether.
        public init(range: Range<Int>, length: Int?) {
            self.range = range
            self.length = length
        }
    }

    /// Creates an entry.
    ///
    /// - Parameters:
    ///   - id: Tells the entries of a key apart.
    ///   - response: The status and the header fields.
    ///   - body: The body.
    ///   - part: Which part of the representation the body is; nil for all of it.
    ///   - varying: The header fields of the request that the response's Vary names.
    ///   - requestDate: When the request was sent.
    ///   - responseDate: When the response came.
    public init(
        id: UUID = UUID(),
        response: HTTPResponse,
        body: Data,
        part: Part? = nil,
        varying: [String: String] = [:],
        requestDate: Date,
        responseDate: Date
    ) {
        self.id = id
        self.response = response
        self.body = body
        self.part = part
        self.varying = varying
        self.requestDate = requestDate
        self.responseDate = responseDate
    }

    /// How much room it takes, roughly: its body and its fields.
    public var cost: Int {
        response.headerFields.reduce(body.count + 256) { $0 + $1.name.rawName.utf8.count + $1.value.utf8.count }
    }
}

/// What a cache looks entries up by: whose they are, and where they came from.
public struct CacheKey: Sendable, Hashable {
    /// On whose behalf they were fetched; nil for nobody's.
    public let principal: Principal?
    /// Their URL, without a fragment.
    public let url: String

    /// Creates a key.
    ///
    /// - Parameters:
    ///   - principal: On whose behalf.
    ///   - url: The URL.
    public init(principal: Principal?, url: String) {
        self.principal = principal
        self.url = url
    }
}
