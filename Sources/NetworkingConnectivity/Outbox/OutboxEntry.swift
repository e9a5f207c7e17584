public import FoundationForNetworking
public import NetworkingCore

/// A request in an ``Outbox``.
public struct OutboxEntry: Sendable, Identifiable, Codable {
    /// The identifier of an entry; entries are sent in the order of their identifiers.
    public struct ID: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
        /// The text: 32 hexadecimal digits and a hyphen in the middle.
        public let description: String

        /// Creates an identifier from a time and a random number.
        init(at nanoseconds: UInt64, _ random: UInt64) {
            description = "\(nanoseconds.hexadecimal)-\(random.hexadecimal)"
        }

        /// Reads an identifier; `nil` if the text is not one.
        ///
        /// - Parameter text: The ``description`` of an identifier.
        public init?(_ text: String) {
            let isDigit: (UInt8) -> Bool = { Hexadecimal.value(of: $0) != nil && !(0x41...0x5A ~= $0) }
            let bytes = Array(text.utf8)
            guard bytes.count == 33, bytes[16] == UInt8(ascii: "-"), bytes[..<16].allSatisfy(isDigit),
                bytes[17...].allSatisfy(isDigit)
            else { return nil }
            description = text
        }

        /// Reads an identifier from its text.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            guard let id = try ID(container.decode(String.self)) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "This is not an identifier.")
            }
            self = id
        }

        /// Writes the identifier as its text.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(description)
        }

        /// Whether the entry of the first identifier was added before that of the second.
        public static func < (lhs: ID, rhs: ID) -> Bool {
            lhs.description < rhs.description
        }

        /// The time at which the identifier was created, in nanoseconds since 1970.
        var nanoseconds: UInt64 {
            UInt64(description.prefix(16), radix: 16) ?? 0
        }
    }

    /// The part of an entry that changes while it is in the outbox.
    public struct Progress: Sendable, Hashable, Codable {
        /// The number of attempts that have begun.
        public var attempts = 0
        /// The earliest date of the next attempt; `nil` if it may be made at any time.
        public var notBefore: Date?
        /// The date at which the app has sent a dead letter again with ``Outbox/retry(_:)``; `nil` if it has not.
        ///
        /// The maximum age counts from this date.
        public var retried: Date?
        /// Whether the outbox has given up: the entry is a dead letter.
        public var isDead = false
        /// The reason for the last failure, without secrets, such as `connection` or `status 503`.
        public var lastFailure: String?

        /// Creates the progress of a new entry.
        public init() {}
    }

    /// The identifier.
    public let id: ID
    /// The request without credentials, with its `Idempotency-Key`.
    public let request: HTTPRequestData
    /// The principal that the request is sent for; `nil` for none.
    public let principal: Principal?
    /// The scheme, the host and the port of the server that the request is sent to, such as
    /// `https://api.example.com:443`; `nil` for an entry of an earlier version of the library.
    public let server: String?
    /// The date at which the request was added.
    public let date: Date
    /// The progress so far.
    public var progress = Progress()

    init(id: ID, request: HTTPRequestData, principal: Principal?, server: String?, date: Date) {
        self.id = id
        self.request = request
        self.principal = principal
        self.server = server
        self.date = date
    }

    private enum CodingKeys: String, CodingKey {
        case id, request, principal, server, date
    }

    /// Reads an entry, without its progress.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(ID.self, forKey: .id)
        request = try container.decode(HTTPRequestData.self, forKey: .request)
        principal = try container.decodeIfPresent(String.self, forKey: .principal).map { Principal(id: $0) }
        server = try container.decodeIfPresent(String.self, forKey: .server)
        date = try container.decode(Date.self, forKey: .date)
    }

    /// Writes the entry, without its progress, which a store keeps separately because it changes.
    ///
    /// - Parameter encoder: The encoder.
    /// - Throws: The errors of ``HTTPRequestData/encode(to:)``.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(request, forKey: .request)
        try container.encodeIfPresent(principal?.id, forKey: .principal)
        try container.encodeIfPresent(server, forKey: .server)
        try container.encode(date, forKey: .date)
    }
}

extension OutboxEntry {
    /// Whether a request goes to the server for which the entry was added.
    func isFor(serverOf request: HTTPRequestData) -> Bool {
        server == nil || server == request.server
    }
}

extension HTTPRequestData {
    /// The scheme, the host and the port of a resolved request; `nil` if it has no authority.
    var server: String? {
        guard authority != nil else { return nil }
        let origin = origin
        return "\(origin[0])://\(origin[1]):\(origin[2])"
    }
}

/// A change of an entry of an ``Outbox``.
public struct OutboxChange: Sendable {
    /// The new state of an entry.
    @nonexhaustive
    public enum State: Sendable {
        /// The entry was added, or a dead letter is to be sent again.
        case queued
        /// An attempt has begun; the number counts from 1.
        case sending(attempt: Int)
        /// The attempt failed, and the next one is not made before this date.
        case waiting(until: Date)
        /// The server has accepted the request, and the entry was removed.
        indirect case delivered(HTTPResponseData)
        /// The outbox has given up for this reason; the entry stays as a dead letter.
        case dead(reason: String)
        /// The app has removed the entry.
        case cancelled
        /// The entry could not be read and was set aside.
        case damaged
    }

    /// The identifier of the entry.
    public let id: OutboxEntry.ID
    /// Its new state.
    public let state: State
}
