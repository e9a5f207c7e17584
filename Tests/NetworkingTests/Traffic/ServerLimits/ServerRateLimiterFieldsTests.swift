import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingResilience
@testable import NetworkingTraffic

@Suite struct ServerRateLimiterFieldsTests {
    @Test func anyFieldsAreHarmless() {
        let hammer = Hammer()
        var random = hammer.random(0)
        let clock = ManualClock()
        let names = [
            "RateLimit", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
            "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After", "Age", "Cache-Status",
            "Date",
        ]
        let values = [
            "0", "1", "-1", "+0", "--1", "NaN", "inf", "1e30", "1" + String(repeating: "0", count: 30), "0.5", "",
            "9223372036854775807", "9223372036854775808", "-9223372036854775808", "4503599627370496", "1700000000",
            "999999999999999",
        ]
        let limiter = ServerRateLimiter()
        for _ in 0..<5_000 {
            var fields = HTTPFields()
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                guard let text = names.randomElement(using: &random), let name = HTTPField.Name(text) else { continue }
                let number = { values.randomElement(using: &random) ?? "" }
                let list = (0..<Int.random(in: 1...3, using: &random))
                    .map { _ in "\"p\";r=\(number());t=\(number());q=\(number());w=\(number())" }
                fields.append(
                    HTTPField(name: name, value: Bool.random(using: &random) ? number() : list.joined(separator: ","))
                )
            }
            let response = HTTPResponseData(
                request: .lawful,
                status: [.ok, .tooManyRequests, .found].randomElement(using: &random) ?? .ok,
                headerFields: fields
            )
            for _ in 0..<3 {
                let decision = limiter.lines.enter(.lawful, .only, waitingUpTo: .seconds(3_600), on: .manual(clock))
                guard case .passed(let ticket) = decision else {
                    if case .waits(let place, _) = decision { limiter.lines.leave(place, .only, on: .manual(clock)) }
                    continue
                }
                limiter.lines.end(ticket, .only, with: limiter.report(on: response), on: .manual(clock))
            }
            clock.advance(by: .seconds(Int64.random(in: 0...100_000, using: &random)))
        }
        clock.advance(by: .seconds(90_000))
        // Nothing closes the limiter for longer than a day.
        guard case .passed = limiter.lines.enter(.lawful, .only, waitingUpTo: .zero, on: .manual(clock)) else {
            Issue.record("still closed, \(hammer)")
            return
        }
    }
}
