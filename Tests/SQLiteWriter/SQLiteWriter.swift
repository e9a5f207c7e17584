#if SQLite
import Foundation
import HTTPTypes
import Networking
import NetworkingSQLite

/// Stores entries in a loop and prints the number of each one that is acknowledged, for tests that end it or run it beside another.
///
/// Arguments: the file, the first number, and how many; with 0 it goes on until it is ended.
@main
enum SQLiteWriter {
    static func main() async throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 4, let first = Int(arguments[2]), let count = Int(arguments[3]) else {
            fatalError("usage: SQLiteWriter <file> <first number> <count>")
        }
        let store = SQLiteCacheStore(file: URL(fileURLWithPath: arguments[1]), costLimit: 1 << 30)
        var number = first
        while count == 0 || number < first + count {
            let fields: HTTPFields = [.cacheControl: "max-age=60", .eTag: "\"\(number)\""]
            // Of every length from a few bytes to more than a few pages of the database.
            let body = Data((0..<number * 997 % 20_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ number) })
            let entry = CachedEntry(
                response: HTTPResponse(status: .ok, headerFields: fields),
                body: body,
                requestDate: Date(timeIntervalSince1970: Double(number)),
                responseDate: Date(timeIntervalSince1970: Double(number))
            )
            try await store.store(entry, for: CacheKey(principal: nil, url: "https://a.example/\(number)"))
            // At once, and not through a buffer that would end with the process.
            FileHandle.standardOutput.write(Data("\(number)\n".utf8))
            number += 1
        }
    }
}
#else
@main
enum SQLiteWriter {
    static func main() {}
}
#endif
