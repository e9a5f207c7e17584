public import FoundationForNetworking
public import HTTPTypes

/// A server's description of a problem: a body of type `application/problem+json` (RFC 9457).
///
/// It is an error, so that one line in the stack throws it for refused responses. Members that the standard does not
/// define are decoded with ``members(as:)``:
///
/// ```swift
/// struct Balance: Decodable {
///     let balance: Int
/// }
///
/// let shop = URLSession.shared.checkedStatusCode(as: ProblemDetails.self)
/// do {
///     try await shop.perform(.post("orders", body: .json(order)))
/// } catch let problem as ProblemDetails where problem.type == "https://example.com/probs/out-of-credit" {
///     show(problem.title ?? "", try problem.members(as: Balance.self).balance)
/// }
/// ```
///
/// A stack without that line throws a ``NetworkingError``, and `error.problemDetails` reads the description from its
/// response.
///
/// The body comes from the network, so it is limited: documents of more than ``maximumBytes`` or ``maximumDepth``, of
/// another media type, or that are not a JSON object in UTF-8 are no problem details. A standard member of another type
/// than the standard's is ignored (section 3.1).
///
/// The error's ``description`` has the status, the title and the type, without secrets. It does not have ``detail`` and
/// the other members, which may be about a person. The texts for the user of the app are those of the status, as in
/// `NetworkingError`. Show ``title`` or ``detail`` if the server writes them for users.
public struct ProblemDetails: Error, Sendable {
    /// The URI that identifies the type of the problem; `about:blank`, the default, for none beyond the status.
    ///
    /// A relative one is resolved against the URL of the response.
    public let type: String
    /// A short text about the type of the problem, which is the same for each occurrence; `nil` if there is none.
    public let title: String?
    /// The status code that the server states in the body, from 100 to 599; `nil` if there is none.
    ///
    /// It is only informative. ``httpStatus`` is the status of the response.
    public let status: Int?
    /// A text about this occurrence of the problem; `nil` if there is none.
    public let detail: String?
    /// The URI that identifies this occurrence of the problem; `nil` if there is none.
    ///
    /// A relative one is resolved against the URL of the response.
    public let instance: String?
    /// The status of the response; `nil` for problem details that do not come from a response.
    public let httpStatus: HTTPResponse.Status?

    /// The document in UTF-8, without a byte order mark.
    private let document: Data
    private let decoder: any BodyDecoder
    /// The rules for descriptions, with the secrets of the request.
    private let redaction: Redaction

    /// The maximum length of a document, in bytes: 64 KiB.
    public static let maximumBytes = 65_536
    /// The maximum number of nested objects and arrays: 32.
    public static let maximumDepth = 32
    /// The type of a problem without a type of its own (section 4.2.1).
    private static let untyped = "about:blank"

    /// Reads a document, whatever its media type is.
    ///
    /// - Parameters:
    ///   - json: The document.
    ///   - decoder: The decoder for ``members(as:)``.
    /// - Throws: A `DecodingError` if the document is no JSON object in UTF-8, or exceeds a limit.
    public init(json: Data, decoder: any BodyDecoder = JSONDecoder()) throws(DecodingError) {
        try self.init(json, of: nil, decoder: decoder)
    }

    /// Reads the body of a response.
    ///
    /// - Throws: A `DecodingError`, also for a body of another media type.
    init(of response: HTTPResponseData, decoder: any BodyDecoder) throws(DecodingError) {
        guard BodyType(response.headerFields[singleton: .contentType]).essence == "application/problem+json" else {
            throw UnreadableBody("its Content-Type is not application/problem+json").asDecodingError
        }
        try self.init(response.data, of: response, decoder: decoder)
    }

    private init(_ json: Data, of response: HTTPResponseData?, decoder: any BodyDecoder) throws(DecodingError) {
        guard json.count <= Self.maximumBytes else {
            throw UnreadableBody("it is longer than the \(Self.maximumBytes) bytes of problem details").asDecodingError
        }
        let bytes = Array(json.starts(with: [0xEF, 0xBB, 0xBF]) ? json.dropFirst(3) : json)
        guard String(validating: bytes, as: UTF8.self) != nil, let members = StandardMembers(bytes) else {
            throw UnreadableBody("it is not a JSON object of at most \(Self.maximumDepth) levels").asDecodingError
        }
        let url = response?.url
        type = members.texts["type"].map { Self.resolved($0, against: url) } ?? Self.untyped
        title = members.texts["title"]
        status = members.status
        detail = members.texts["detail"]
        instance = members.texts["instance"].map { Self.resolved($0, against: url) }
        httpStatus = response?.status
        document = Data(bytes)
        self.decoder = decoder
        redaction = response.map { .standard.redactingSecrets(of: $0.sentRequest) } ?? .standard
    }

    /// Decodes members of the document, such as those that the standard does not define.
    ///
    /// ```swift
    /// struct Faults: Decodable {
    ///     struct Fault: Decodable {
    ///         let detail: String
    ///         let pointer: String
    ///     }
    ///
    ///     let errors: [Fault]
    /// }
    ///
    /// if let problem = error.problemDetails {
    ///     show(try problem.members(as: Faults.self).errors)
    /// }
    /// ```
    ///
    /// The decoder is that of the request or the stack, and else a plain `JSONDecoder`. A type ignores the members that
    /// it does not declare, as extensions require (section 3.2).
    ///
    /// - Parameter type: The type of the whole document.
    /// - Returns: The value.
    /// - Throws: A `DecodingError`, which wraps any other error of the decoder.
    public func members<Members: Decodable>(as type: Members.Type = Members.self) throws(DecodingError) -> Members {
        do {
            return try decoder.decode(Members.self, from: document)
        } catch let error as DecodingError {
            throw error
        } catch {
            let context = DecodingError.Context(codingPath: [], debugDescription: "", underlyingError: error)
            throw DecodingError.dataCorrupted(context)
        }
    }

    /// Returns a URI reference that is resolved against a URL; unchanged if it has a scheme or cannot be resolved.
    private static func resolved(_ reference: String, against base: URL?) -> String {
        let hash = reference.utf8.firstIndex(of: UInt8(ascii: "#")) ?? reference.endIndex
        let delimiter = reference.utf8.firstIndex { ":/?#".utf8.contains($0) }
        // Only a scheme has a colon before any other delimiter.
        let isAbsolute = delimiter.map { reference.utf8[$0] == UInt8(ascii: ":") } ?? false
        guard !isAbsolute, hash > reference.startIndex, let base,
            let url = URL(reference: String(reference[..<hash]), relativeTo: base)
        else { return reference }
        return url.absoluteString + reference[hash...]
    }
}

// MARK: Standard members

/// The members of a document that RFC 9457 section 3.1 defines.
private struct StandardMembers {
    private(set) var texts: [String: String] = [:]
    private(set) var status: Int?

    private static let names: Set<String> = ["type", "title", "status", "detail", "instance"]

    /// Reads an object, and checks the whole document; `nil` if it is malformed, too deep or no object.
    ///
    /// The first one of several members with a name counts, as in `JSONDecoder`, so that both read the same values.
    init?(_ document: [UInt8]) {
        var tokens = JSONTokenizer(document)
        guard tokens.next() == .start(.object) else { return nil }
        var known: Set<String> = []
        // The standard member whose value follows; `nil` for any other member, and for one that has a value already.
        var name: String?
        while let token = tokens.next() {
            guard tokens.depth <= ProblemDetails.maximumDepth else { return nil }
            guard token != .documentEnd else { return }
            // A container ends or starts at this depth, too, and is never the value of a standard member.
            guard tokens.depth == 1 else { continue }
            switch token {
            case .name(let range):
                let text = tokens.text(of: range)
                name = Self.names.contains(text) && known.insert(text).inserted ? text : nil
            case .string(let range) where name != "status":
                if let name { texts[name] = tokens.text(of: range) }
            case .number(let range) where name == "status":
                let number = Double(String(decoding: document[range], as: UTF8.self))
                status = number.flatMap { Int(exactly: $0) }.flatMap { 100...599 ~= $0 ? $0 : nil }
            default: continue
            }
        }
        return nil
    }
}

// MARK: Reading

extension HTTPResponseData {
    /// The problem details in the body; `nil` if the body has another media type, is malformed or exceeds a limit.
    ///
    /// The body is read each time. It is not in the response if a sink received it.
    public var problemDetails: ProblemDetails? {
        try? ProblemDetails(of: self, decoder: decoder ?? JSONDecoder())
    }
}

extension Error {
    /// The problem details that the error is or has in its response; `nil` if there are none.
    ///
    /// ```swift
    /// do {
    ///     try await network.perform(.post("orders"))
    /// } catch {
    ///     if let problem = error.problemDetails { show(problem.title ?? "") }
    /// }
    /// ```
    public var problemDetails: ProblemDetails? {
        (self as? ProblemDetails) ?? networkingError?.response?.problemDetails
    }
}

extension ProblemDetails: Decodable {
    /// Reads a document with any decoder.
    ///
    /// ``HTTPResponseData/json(as:decoder:)`` and `checkedStatusCode(as:)` read the body itself and do not use it.
    /// Numbers that neither an integer of 64 bits nor a `Double` represents are rounded.
    ///
    /// - Parameter decoder: The decoder.
    /// - Throws: A `DecodingError` if the value is no object, or exceeds a limit.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.singleValueContainer().decode([String: JSONMember].self)
        try self.init(json: JSONEncoder().encode(members))
    }
}

/// A JSON value of any type.
private enum JSONMember: Codable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case number(Double)
    case text(String)
    case array([JSONMember])
    case object([String: JSONMember])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        // The path has an element for each level around the value, so the recursion ends.
        guard decoder.codingPath.count <= 2 * ProblemDetails.maximumDepth else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "The value is too deep.")
        }
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .boolean(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([JSONMember].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONMember].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .boolean(let value): try container.encode(value)
        case .integer(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .text(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        case .object(let value): try container.encode(value)
        }
    }
}

// MARK: Descriptions

extension ProblemDetails: RedactedDescription {
    /// The status, the title and the type, without secrets.
    ///
    /// For example: `403 You do not have enough credit. (https://example.com/probs/out-of-credit)`.
    public var description: String {
        line(redactedBy: redaction)
    }

    /// Returns the description for a redaction, as one line.
    func line(redactedBy redaction: Redaction) -> String {
        let title = title.map { redaction.mask ?? redaction.redactedText($0) ?? $0 }
        let type = type == Self.untyped ? nil : "(\(redaction.reference(type)))"
        let parts = [(httpStatus?.code ?? status).map { "\($0)" }, title, type].compactMap { $0 }
        guard !parts.isEmpty else { return "problem details without a title" }
        return parts.map { PrintableText.cut(redaction.shown($0), to: 256) }.joined(separator: " ")
    }
}

extension ProblemDetails: LocalizedError, ErrorWithUserText {
    // Not those of the protocol, because the documentation shows only members of public types.

    /// What happened, for the user of the app; `localizedDescription` returns it too.
    ///
    /// It is the text of the status and not of the server: "This was not found on the server."
    public var errorDescription: String? {
        userText.localized(.description)
    }

    /// Why it happened, for the user of the app.
    public var failureReason: String? {
        userText.localized(.reason)
    }

    /// The way out for the user of the app.
    public var recoverySuggestion: String? {
        userText.localized(.suggestion)
    }

    /// The texts of the status.
    package var userText: UserText {
        (httpStatus?.code ?? status).flatMap { UserText.status($0) } ?? NetworkingError.Kind.status.text
    }
}

extension ProblemDetails: Hashable {
    /// Compares the documents and the status of the response.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.document == rhs.document && lhs.type == rhs.type && lhs.instance == rhs.instance
            && lhs.httpStatus == rhs.httpStatus
    }

    /// Hashes the document.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(document)
        hasher.combine(httpStatus)
    }
}
