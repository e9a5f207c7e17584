import NetworkingCore

extension HAR {
    package struct Request: Sendable, Hashable {
        package var method: String
        package var url: String
        package var httpVersion = HAR.unknownVersion
        package var cookies: [Cookie] = []
        package var headers: [Field] = []
        package var queryString: [Field] = []
        package var postData: PostData?
        var headersSize: Int64 = -1
        package var bodySize: Int64 = 0

        package init(method: String, url: String) {
            self.method = method
            self.url = url
        }
    }

    package struct Response: Sendable, Hashable {
        /// The status; 0 if there was no response.
        package var status: Int64 = 0
        package var statusText = ""
        package var httpVersion = HAR.unknownVersion
        package var cookies: [Cookie] = []
        package var headers: [Field] = []
        package var content = Content()
        package var redirectURL = ""
        var headersSize: Int64 = -1
        package var bodySize: Int64 = -1

        /// Creates the value for a missing response.
        package init() {}
    }

    /// A name and a value.
    package struct Field: Sendable, Hashable {
        package var name: String
        package var value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        /// Returns one field for each line of a value: browsers join the values of repeated fields with line breaks.
        static func separated(_ fields: [Field]) -> [Field] {
            fields.flatMap { field in
                guard field.value.utf8.contains(where: { $0 == 10 || $0 == 13 }) else { return [field] }
                return field.value.utf8.split { $0 == 10 || $0 == 13 }
                    .map { Field(name: field.name, value: String(Substring($0.trimmed))) }
            }
        }
    }

    package struct Cookie: Sendable, Hashable {
        var name: String
        var value: String
        package var path: String?
        var domain: String?
        var expires: String?
        var httpOnly: Bool?
        var secure: Bool?

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The body of a response.
    package struct Content: Sendable, Hashable {
        /// The length of the body, even if it is not stored.
        package var size: Int64 = 0
        package var mimeType = ""
        package var text: String?
        /// `base64` if the text is encoded.
        package var encoding: String?
        /// The reason why the body is not stored.
        package var comment: String?

        init() {}
    }

    /// The body of a request.
    package struct PostData: Sendable, Hashable {
        package var mimeType = ""
        package var text: String?
        /// `base64` if the text is encoded; HAR has no field for it.
        package var encoding: String?
        package var params: [Part]?
        /// The reason why the body is not stored.
        package var comment: String?

        package init() {}
    }

    /// A part of a form.
    package struct Part: Sendable, Hashable {
        package var name: String
        package var value: String?
        package var fileName: String?
        package var contentType: String?

        package init(name: String, value: String? = nil, fileName: String? = nil, contentType: String? = nil) {
            self.name = name
            self.value = value
            self.fileName = fileName
            self.contentType = contentType
        }
    }

    /// The placeholder for a version that the transport does not report.
    static let unknownVersion = "unknown"
}

extension HAR.Request: Codable {
    package init(from decoder: any Decoder) throws {
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
    package init(from decoder: any Decoder) throws {
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
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(name: container.text(.name) ?? "", value: container.text(.value) ?? "")
    }
}

extension HAR.Cookie: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(name: container.text(.name) ?? "", value: container.text(.value) ?? "")
        container.read(container.text, [.path: \.path, .domain: \.domain, .expires: \.expires], into: &self)
        container.read(container.flag, [.httpOnly: \.httpOnly, .secure: \.secure], into: &self)
    }
}

extension HAR.Content: Codable {
    package init(from decoder: any Decoder) throws {
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

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init()
        container.read(container.text, [.mimeType: \.mimeType], into: &self)
        container.read(container.text, [.text: \.text, .encoding: \.encoding, .comment: \.comment], into: &self)
        let parts: [HAR.Part] = container.list(.params)
        params = parts.isEmpty ? nil : parts
    }
}

extension HAR.Part: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.init(
            name: container.text(.name) ?? "",
            value: container.text(.value),
            fileName: container.text(.fileName),
            contentType: container.text(.contentType)
        )
    }
}
