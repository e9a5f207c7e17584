import Networking

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension Cassette {
    /// In what two JSON documents differ, by the paths of what does.
    struct JSONDifference {
        /// More of them would not be read.
        private static let most = 10
        private var lines: [String] = []

        /// The differences, a line each; nil where one of the two is no JSON.
        static func lines(_ recorded: Data, _ request: Data) -> [String]? {
            let decoder = JSONDecoder()
            guard !recorded.isEmpty, !request.isEmpty,
                let recorded = try? decoder.decode(JSONValue.self, from: recorded),
                let request = try? decoder.decode(JSONValue.self, from: request)
            else { return nil }
            var difference = JSONDifference()
            difference.compare(recorded, request, at: "$")
            return difference.lines
        }

        private mutating func compare(_ recorded: JSONValue?, _ request: JSONValue?, at path: String) {
            guard recorded != request, lines.count < Self.most else { return }
            switch (recorded, request) {
            case (.object(let recorded), .object(let request)):
                for name in Set(recorded.keys).union(request.keys).sorted() {
                    compare(
                        recorded[name],
                        request[name],
                        at: "\(path).\(Redaction.cut(Redaction.singleLine(name), to: 100))"
                    )
                }
            case (.array(let recorded), .array(let request)):
                for index in 0..<max(recorded.count, request.count) {
                    compare(
                        index < recorded.count ? recorded[index] : nil,
                        index < request.count ? request[index] : nil,
                        at: "\(path)[\(index)]"
                    )
                }
            default:
                lines.append("the body at \(path): recorded \(shown(recorded)), now \(shown(request))")
            }
        }

        private func shown(_ value: JSONValue?) -> String {
            switch value {
            case nil: "nothing"
            case .null: "null"
            case .bool(let flag): "\(flag)"
            case .integer(let number): "\(number)"
            case .number(let number): "\(number)"
            case .string(let text): "\"\(Redaction.cut(Redaction.singleLine(text), to: 200))\""
            case .array(let elements): "an array of \(elements.count)"
            case .object(let fields): "an object of \(fields.count)"
            }
        }
    }

    /// A JSON document.
    enum JSONValue: Sendable, Hashable, Decodable {
        case null
        case bool(Bool)
        case integer(Int64)
        case number(Double)
        case string(String)
        case array([JSONValue])
        case object([String: JSONValue])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let flag = try? container.decode(Bool.self) {
                self = .bool(flag)
            } else if let number = try? container.decode(Int64.self) {
                self = .integer(number)
            } else if let number = try? container.decode(Double.self) {
                self = .number(number)
            } else if let text = try? container.decode(String.self) {
                self = .string(text)
            } else if let elements = try? container.decode([JSONValue].self) {
                self = .array(elements)
            } else {
                self = .object(try container.decode([String: JSONValue].self))
            }
        }
    }
}
