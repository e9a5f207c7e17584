import Testing

@testable import NetworkingCore

@Suite
struct ExchangeNumbersTests {
    @Test func startAgainAfterTheLastNumberWithoutZero() {
        let numbers = ExchangeNumbers(after: .max - 1)

        #expect([numbers.next(), numbers.next(), numbers.next()] == [.max, 1, 2])
    }
}
