#if URLSession && AsyncHTTPClient && SQLite
import Foundation
import Networking

/// How fast streams are read, once their bytes are there.
enum Streams {
    static func measure() throws -> [Row] {
        let event = "event: reading\ndata: \(String(repeating: "x", count: 980))\nid: 4711\n\n"
        let chunk = Data(String(repeating: event, count: 64).utf8)
        var best = 0.0
        for _ in 0..<20 {
            var parser = ServerSentEventParser()
            var count = 0
            let start = ContinuousClock.now
            for _ in 0..<100 {
                count += try parser.parse(chunk).count
            }
            let elapsed = start.duration(to: .now)
            precondition(count == 6_400, "all events are read")
            let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
            best = max(best, Double(chunk.count) * 100 / seconds / 1e6)
        }
        return [Row(name: "server-sent events of 1 KiB, parsed", value: best, unit: "MB/s", gate: 200)]
    }
}
#endif
