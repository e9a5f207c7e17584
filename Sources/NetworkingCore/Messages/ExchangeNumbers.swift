import Synchronization

/// The numbers of exchanges, which distinguish the exchanges of a request.
///
/// They start again after the last number, and are never 0, which means that an exchange has no number.
struct ExchangeNumbers: ~Copyable {
    private let last: Atomic<UInt32>

    /// Creates numbers that follow a number.
    init(after last: UInt32 = 0) {
        self.last = Atomic(last)
    }

    /// Returns the next number.
    func next() -> UInt32 {
        let number = last.wrappingAdd(1, ordering: .relaxed).newValue
        return number == 0 ? next() : number
    }
}
