import Foundation

/// A test of the public cache tests (http-tests/cache-tests), in the format of their JSON.
struct CacheTest: Decodable, Sendable {
    let id: String
    let name: String
    let kind: Kind?
    let requests: [Step]
    let dependencies: [String]?
    let isForBrowsers: Bool?
    let isForProxies: Bool?

    enum Kind: String, Decodable {
        case required
        case optimal
        case check
    }

    private enum CodingKeys: String, CodingKey {
        case id, name, kind, requests
        case dependencies = "dependsOn"
        case isForBrowsers = "browserOnly"
        case isForProxies = "cdnOnly"
    }

    /// The value of a field: text, or a number of seconds from now.
    enum Value: Decodable, Sendable {
        case text(String)
        case number(Double)
        case flag(Bool)
        case fields([[Value]])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let flag = try? container.decode(Bool.self) {
                self = .flag(flag)
            } else if let number = try? container.decode(Double.self) {
                self = .number(number)
            } else if let text = try? container.decode(String.self) {
                self = .text(text)
            } else {
                self = .fields(try container.decode([[Value]].self))
            }
        }

        var text: String {
            switch self {
            case .text(let text): text
            case .number(let number): "\(Int(number))"
            case .flag(let flag): "\(flag)"
            case .fields: ""
            }
        }
    }

    /// A list of values or a single value.
    struct Values: Decodable, Sendable {
        let values: [Value]

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            values = try (try? container.decode([Value].self)) ?? [container.decode(Value.self)]
        }
    }

    /// Whether the test checks interim responses.
    var expectsInterim: Bool {
        requests.contains { $0.expectedInterimResponses != nil }
    }

    struct Step: Decodable, Sendable {
        var requestMethod: String?
        var requestHeaders: [[Value]]?
        var requestBody: String?
        var queryArg: String?
        var filename: String?
        var cache: String?
        var magicIms: Bool?
        var magicLocations: Bool?
        var rfc850date: [String]?
        var responseStatus: [Value]?
        var responseHeaders: [[Value]]?
        var responseBody: String?
        var disconnect: Bool?
        var responsePause: Double?
        var interimResponses: [[Value]]?
        var expectedInterimResponses: [[Value]]?
        var expectedType: String?
        var expectedStatus: Int?
        var expectedMethod: String?
        var expectedRequestHeaders: [Values]?
        var expectedResponseHeaders: [Values]?
        var expectedResponseHeadersMissing: [Values]?
        var expectedResponseText: String?
        var checkBody: Bool?
        var setup: Bool?
        var setupTests: [String]?
        var pauseAfter: Bool?
    }
}
