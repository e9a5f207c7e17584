public import FoundationForNetworking
import HTTPTypes

extension RequestBody {
    /// Creates a body of named parts: texts, bytes and files, as an HTML form with files sends them (RFC 7578).
    ///
    /// ```swift
    /// request.body = .multipart([
    ///     .text("Holiday", name: "title"),
    ///     .file(URL(filePath: "/tmp/beach.jpg"), name: "photo"),
    /// ])
    /// ```
    ///
    /// Files and streams in the parts are read while they are sent. The length is known if the lengths of all parts are
    /// known, and the body can be sent again if all parts can. If the request has a `multipart/…` Content-Type, that
    /// type is kept and gets the boundary.
    ///
    /// The send fails with ``NetworkingError/Kind/unencodableBody`` if the boundary is not valid or occurs in a part.
    ///
    /// - Parameters:
    ///   - parts: The parts in order; a name may occur more than once.
    ///   - boundary: The boundary between the parts, for tests: 1 to 70 letters, digits and `'()+_,-./:=?`. The
    ///     default has 192 random bits of the environment's ``NetworkEnvironment/secureRandom``, so that it does not
    ///     occur in any part.
    /// - Returns: A body of type `multipart/form-data`.
    public static func multipart(_ parts: [MultipartPart], boundary: String? = nil) -> RequestBody {
        if let boundary, !MultipartBody.isBoundary(boundary) {
            return RequestBody(.invalidBoundary)
        }
        for part in parts {
            if let failure = part.failure { return RequestBody(failure) }
        }
        let source = MultipartBody(parts: parts, boundary: boundary)
        // A boundary with slashes or similar characters must be a quoted string; otherwise it is a token.
        let isToken = source.boundary.allSatisfy { $0.isLetter || $0.isNumber || "'+_-.".contains($0) }
        let parameter = isToken ? source.boundary : "\"\(source.boundary)\""
        return RequestBody(source, contentType: "multipart/form-data; boundary=\(parameter)")
    }
}

/// One part of a ``RequestBody/multipart(_:boundary:)`` body.
public struct MultipartPart: Sendable, Hashable {
    /// The name of the form field.
    public var name: String
    /// The file name that is sent to the server; `nil` for a part that is not a file.
    public var fileName: String?
    /// The content of the part.
    public var body: RequestBody
    /// The media type of the part; `nil` omits the field, which means text.
    public var contentType: String?

    /// Creates a part with any body.
    ///
    /// Names are written as WHATWG's HTML standard specifies for browsers: `"`, CR and LF are percent-encoded, and
    /// everything else is plain UTF-8.
    ///
    /// - Parameters:
    ///   - name: The name of the form field.
    ///   - fileName: The name of the file, if the part is a file.
    ///   - contentType: The media type; `nil` uses that of the body.
    ///   - body: The content of the part.
    public init(name: String, fileName: String? = nil, contentType: String? = nil, body: RequestBody) {
        self.name = name
        self.fileName = fileName
        self.body = body
        self.contentType = contentType ?? body.contentType
    }

    /// Creates a text part.
    ///
    /// Line breaks are written as CR LF, as in browsers.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - name: The name of the form field.
    /// - Returns: The part, without a media type.
    public static func text(_ text: String, name: String) -> MultipartPart {
        var part = MultipartPart(name: name, body: .data(Data(text.withNetworkLineBreaks.utf8)))
        part.contentType = nil
        return part
    }

    /// Creates a part with bytes in memory.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - name: The name of the form field.
    ///   - fileName: The name of the file, if the part is a file.
    ///   - contentType: The media type; `nil` derives it from the file name.
    /// - Returns: The part.
    public static func data(
        _ data: Data,
        name: String,
        fileName: String? = nil,
        contentType: String? = nil
    ) -> MultipartPart {
        let contentType = contentType ?? .mediaType(forFileName: fileName ?? "")
        return MultipartPart(name: name, fileName: fileName, body: .data(data, contentType: contentType))
    }

    /// Creates a part with a file, which is sent from disk.
    ///
    /// - Parameters:
    ///   - url: The URL of the file.
    ///   - name: The name of the form field.
    ///   - fileName: The file name that is sent to the server; `nil` uses the name of the file.
    ///   - contentType: The media type; `nil` derives it from the file name.
    /// - Returns: The part.
    public static func file(
        _ url: URL,
        name: String,
        fileName: String? = nil,
        contentType: String? = nil
    ) -> MultipartPart {
        let fileName = fileName ?? url.lastPathComponent
        let contentType = contentType ?? .mediaType(forFileName: fileName)
        return MultipartPart(name: name, fileName: fileName, body: .file(url, contentType: contentType))
    }

    /// The header lines of the part, with the empty line after them.
    fileprivate var head: String {
        var head = "Content-Disposition: form-data; name=\"\(name.withNetworkLineBreaks.escapedForHead)\""
        if let fileName {
            head += "; filename=\"\(fileName.escapedForHead)\""
        }
        if let contentType {
            head += "\r\nContent-Type: \(contentType)"
        }
        return head + "\r\n\r\n"
    }

    /// The reason why the part cannot be sent; `nil` if it can.
    fileprivate var failure: RequestBody.Failure? {
        if let contentType, !HTTPField.isValidValue(contentType) { return .invalidContentType }
        guard let error = body.encodingError else { return nil }
        return error as? RequestBody.Failure
            ?? RequestBody.Failure(
                .unencodableBody,
                reason:
                    "The part \"\(PrintableText.singleLine(name))\" could not be encoded, so the request was not sent. "
                    + "The encoder's error names the value at fault.",
                underlying: error
            )
    }
}

/// A body source that reads the parts with a boundary between them.
struct MultipartBody: BodySource {
    let boundary: String
    let parts: [MultipartPart]
    /// Whether the parts must be searched for the boundary, because it was given and is not random.
    private let isBoundaryGiven: Bool

    init(parts: [MultipartPart], boundary: String?) {
        self.parts = parts
        self.boundary = boundary ?? Self.makeBoundary()
        isBoundaryGiven = boundary != nil
    }

    var length: Int64? {
        var length = Int64(end.count)
        for part in parts {
            guard let bytes = part.body.length else { return nil }
            // The stated length of a stream may be any number.
            let (sum, overflows) = length.addingReportingOverflow(bytes)
            let (total, overflowsToo) = sum.addingReportingOverflow(Int64(begin(part).count) + 2)
            guard !overflows, !overflowsToo else { return nil }
            length = total
        }
        return length
    }

    var isOnDisk: Bool {
        parts.contains(where: \.body.isOnDisk)
    }

    var isReplayable: Bool {
        parts.allSatisfy(\.body.isReplayable)
    }

    var identity: String? {
        nil
    }

    func open() -> any BodyReader {
        MultipartReader(self)
    }

    func openNow() throws -> (any BodyReaderNow)? {
        // Each part is opened here, so that failures occur before anything is sent.
        for part in parts where try part.body.openNow() == nil {
            return nil
        }
        return MultipartReaderNow(self)
    }

    private func begin(_ part: MultipartPart) -> Data {
        Data("--\(boundary)\r\n\(part.head)".utf8)
    }

    private var end: Data {
        Data("--\(boundary)--\r\n".utf8)
    }

    /// Whether a text is a valid boundary (RFC 2046 section 5.1.1, without the space).
    static func isBoundary(_ text: String) -> Bool {
        (1...70).contains(text.utf8.count)
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "'()+_,-./:=?".contains($0)) }
    }

    private static func makeBoundary() -> String {
        let digits = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_")
        let bytes = NetworkEnvironment.current.secureRandom.bytes(32)
        return "networking-" + String(bytes.map { digits[Int($0 & 63)] })
    }

    /// The next step of a reader.
    private enum Step {
        /// Bytes outside of the parts.
        case bytes(Data)
        /// The head of a part, followed by the part.
        case part(Data, RequestBody)
        case end
    }

    /// Iterates over the parts and searches them for the boundary.
    private struct Course {
        private let body: MultipartBody
        private var rest: ArraySlice<MultipartPart>
        private var search: BoundarySearch?
        private var isAtEnd = false

        init(_ body: MultipartBody) {
            self.body = body
            rest = body.parts[...]
        }

        mutating func step() -> Step {
            if let part = rest.popFirst() {
                search = body.isBoundaryGiven ? BoundarySearch(for: body.boundary) : nil
                return .part(body.begin(part), part.body)
            }
            guard !isAtEnd else { return .end }
            isAtEnd = true
            return .bytes(body.end)
        }

        /// Searches a chunk of a part for the boundary and returns it; returns the line break after the part for `nil`.
        mutating func took(_ chunk: Data?) throws -> Data {
            guard let chunk else { return Data("\r\n".utf8) }
            try search?.read(chunk)
            return chunk
        }
    }

    private struct MultipartReader: BodyReader {
        private var course: Course
        private var reader: (any BodyReader)?

        init(_ body: MultipartBody) {
            course = Course(body)
        }

        mutating func next() async throws -> Data? {
            if var reader {
                let chunk = try await reader.next()
                self.reader = chunk == nil ? nil : reader
                return try course.took(chunk)
            }
            switch course.step() {
            case .bytes(let data): return data
            case .part(let head, let body):
                reader = try await body.open()
                return head
            case .end: return nil
            }
        }
    }

    private struct MultipartReaderNow: BodyReaderNow {
        private var course: Course
        private var reader: (any BodyReaderNow)?

        init(_ body: MultipartBody) {
            course = Course(body)
        }

        mutating func nextNow() throws -> Data? {
            if var reader {
                let chunk = try reader.nextNow()
                self.reader = chunk == nil ? nil : reader
                return try course.took(chunk)
            }
            switch course.step() {
            case .bytes(let data): return data
            case .part(let head, let body):
                reader = try body.openNow()
                return head
            case .end: return nil
            }
        }
    }
}

/// Searches chunks of bytes for a boundary.
private struct BoundarySearch {
    private let boundary: [UInt8]
    private var tail: [UInt8] = []

    init(for boundary: String) {
        self.boundary = Array("--\(boundary)".utf8)
    }

    mutating func read(_ chunk: Data) throws {
        let bytes = tail + chunk
        guard bytes.firstRange(of: boundary) == nil else { throw RequestBody.Failure.boundaryInPart }
        tail = Array(bytes.suffix(boundary.count - 1))
    }
}

extension RequestBody.Failure {
    fileprivate static let invalidBoundary = RequestBody.Failure(
        .unencodableBody,
        reason:
            "The boundary is not 1 to 70 letters, digits and '()+_,-./:=? (RFC 2046 section 5.1.1). Omit it to use a "
            + "random one."
    )
    fileprivate static let boundaryInPart = RequestBody.Failure(
        .unencodableBody,
        reason: "The boundary occurs in a part, so the parts could not be separated. Omit it to use a random one."
    )
}

extension String {
    /// The text with every line break replaced by CR LF (HTML, multipart/form-data encoding algorithm).
    fileprivate var withNetworkLineBreaks: String {
        var result = String.UnicodeScalarView()
        var previous: Unicode.Scalar?
        for scalar in unicodeScalars {
            switch scalar {
            case "\r": result.append(contentsOf: "\r\n".unicodeScalars)
            case "\n" where previous == "\r": break
            case "\n": result.append(contentsOf: "\r\n".unicodeScalars)
            default: result.append(scalar)
            }
            previous = scalar
        }
        return String(result)
    }

    /// The name with its quotation marks and line breaks percent-encoded (HTML, multipart/form-data encoding
    /// algorithm).
    fileprivate var escapedForHead: String {
        var result = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            switch scalar {
            case "\"": result.append(contentsOf: "%22".unicodeScalars)
            case "\r": result.append(contentsOf: "%0D".unicodeScalars)
            case "\n": result.append(contentsOf: "%0A".unicodeScalars)
            default: result.append(scalar)
            }
        }
        return String(result)
    }
}
