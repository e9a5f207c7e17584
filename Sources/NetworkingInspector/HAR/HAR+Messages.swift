import NetworkingCore

extension HAR {
    struct Request: Sendable, Hashable {
        var method: String
        var url: String
        var httpVersion = HAR.unknownVersion
        var cookies: [Cookie] = []
        var headers: [Field] = []
        var queryString: [Field] = []
        var postData: PostData?
        var headersSize: Int64 = -1
        var bodySize: Int64 = 0
    }

    struct Response: Sendable, Hashable {
        /// The status; 0 if there was no response.
        var status: Int64 = 0
        var statusText = ""
        var httpVersion = HAR.unknownVersion
        var cookies: [Cookie] = []
        var headers: [Field] = []
        var content = Content()
        var redirectURL = ""
        var headersSize: Int64 = -1
        var bodySize: Int64 = -1
    }

    /// A name and a value.
    struct Field: Sendable, Hashable {
        var name: String
        var value: String

        /// Returns one field for each line of a value: browsers join the values of repeated fields with line breaks.
        static func separated(_ fields: [Field]) -> [Field] {
            fields.flatMap { field in
                guard field.value.utf8.contains(where: { $0 == 10 || $0 == 13 }) else { return [field] }
                return field.value.utf8.split { $0 == 10 || $0 == 13 }
                    .map { Field(name: field.name, value: String(Substring($0.trimmed))) }
            }
        }
    }

    struct Cookie: Sendable, Hashable {
        var name: String
        var value: String
        var path: String?
        var domain: String?
        var expires: String?
        var httpOnly: Bool?
        var secure: Bool?
    }

    /// The body of a response.
    struct Content: Sendable, Hashable {
        /// The length of the body, even if it is not stored.
        var size: Int64 = 0
        var mimeType = ""
        var text: String?
        /// `base64` if the text is encoded.
        var encoding: String?
        /// The reason why the body is not stored.
        var comment: String?
    }

    /// The body of a request.
    struct PostData: Sendable, Hashable {
        var mimeType = ""
        var text: String?
        /// `base64` if the text is encoded; HAR has no field for it.
        var encoding: String?
        var params: [Part]?
        /// The reason why the body is not stored.
        var comment: String?
    }

    /// A part of a form.
    struct Part: Sendable, Hashable {
        var name: String
        var value: String?
        var fileName: String?
        var contentType: String?
    }

    /// The placeholder for a version that the transport does not report.
    static let unknownVersion = "unknown"
}

extension HAR.Request: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(method: container.text(.method) ?? "", url: container.text(.url) ?? "")
        bodySize = -1
        container.read(container.text, [.httpVersion: \.httpVersion], into: &self)
        container.read(container.integer, [.headersSize: \.headersSize, .bodySize: \.bodySize], into: &self)
        cookies = container.list(.cookies)
        headers = HAR.Field.separated(container.list(.headers))
        queryString = container.list(.queryString)
        postData = container.object(.postData)
    }
}

extension HAR.Response: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init()
        container.read(
            container.text,
            [.statusText: \.statusText, .httpVersion: \.httpVersion, .redirectURL: \.redirectURL],
            into: &self
        )
        container.read(
            container.integer,
            [.status: \.status, .headersSize: \.headersSize, .bodySize: \.bodySize],
            into: &self
        )
        cookies = container.list(.cookies)
        headers = HAR.Field.separated(container.list(.headers))
        content = container.object(.content) ?? HAR.Content()
    }
}

extension HAR.Field: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(name: container.text(.name) ?? "", value: container.text(.value) ?? "")
    }
}

extension HAR.Cookie: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(name: container.text(.name) ?? "", value: container.text(.value) ?? "")
        container.read(container.text, [.path: \.path, .domain: \.domain, .expires: \.expires], into: &self)
        container.read(container.flag, [.httpOnly: \.httpOnly, .secure: \.secure], into: &self)
    }
}

extension HAR.Content: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init()
        container.read(container.integer, [.size: \.size], into: &self)
        container.read(container.text, [.mimeType: \.mimeType], into: &self)
        container.read(container.text, [.text: \.text, .encoding: \.encoding, .comment: \.comment], into: &self)
    }
}

extension HAR.PostData: Codable {
    private enum CodingKeys: String, CodingKey {
        case mimeType, text, params, comment
        case encoding = "_encoding"
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init()
        container.read(container.text, [.mimeType: \.mimeType], into: &self)
        container.read(container.text, [.text: \.text, .encoding: \.encoding, .comment: \.comment], into: &self)
        let parts: [HAR.Part] = container.list(.params)
        params = parts.isEmpty ? nil : parts
    }
}

extension HAR.Part: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            name: container.text(.name) ?? "",
            value: container.text(.value),
            fileName: container.text(.fileName),
            contentType: container.text(.contentType)
        )
    }
}
