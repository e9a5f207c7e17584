import NetworkingCore
import NetworkingTesting
import TestSupport
import Testing

@Suite struct QueueTests {
    @Test func agreesWithAnArray() {
        withSeed { random in
            var (queue, array): (Queue<Int>, [Int]) = ([], [])
            for number in 0..<20_000 {
                switch Int.random(in: 0..<12, using: &random) {
                // The number of elements rises and falls by some hundreds.
                case 0..<(number / 500 % 2 == 0 ? 7 : 3):
                    queue.append(number)
                    array.append(number)
                case 10: #expect(queue.popLast() == array.popLast())
                case 11 where number % 40 == 0:
                    let (divisor, rest) = (Int.random(in: 2...5, using: &random), number % 2)
                    queue.removeAll { $0 % divisor == rest }
                    array.removeAll { $0 % divisor == rest }
                case 11 where !array.isEmpty:
                    let index = Int.random(in: 0..<array.count, using: &random)
                    queue[index] += 1
                    array[index] += 1
                default: #expect(queue.popFirst() == (array.isEmpty ? nil : array.removeFirst()))
                }
                #expect(queue.count == array.count && queue.first == array.first && queue.last == array.last)
            }
            #expect(Array(queue) == array)
            queue.removeAll()
            #expect(queue.isEmpty && queue.popFirst() == nil && queue.popLast() == nil)
        }
    }

    @Test func releasesWhatItRemoves() {
        final class Element {}
        var queue = Queue([Element(), Element()])
        weak let first = queue.first
        weak let last = queue.last
        queue.removeFirst()
        #expect(first == nil && last != nil)
        #expect(queue.popLast() != nil && queue.isEmpty)
        #expect(last == nil)
    }
}
