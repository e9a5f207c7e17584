import NetworkingCore
import NetworkingTesting
import TestSupport
import Testing

@Suite struct HeapTests {
    @Test func agreesWithASortedArray() {
        withSeed { random in
            var (heap, array): (Heap<Int>, [Int]) = (Heap(), [])
            for step in 0..<5_000 {
                if Int.random(in: 0..<5, using: &random) < (step / 500 % 2 == 0 ? 4 : 2) {
                    // Few numbers, so that many are equal.
                    let number = Int.random(in: 0..<100, using: &random)
                    heap.insert(number)
                    array.insert(number, at: array.firstIndex { $0 > number } ?? array.endIndex)
                } else {
                    #expect(heap.popMin() == (array.isEmpty ? nil : array.removeFirst()))
                }
                #expect(heap.min == array.first && heap.count == array.count)
            }
            #expect(heap.unordered.sorted() == array)
        }
    }

    @Test func sortsWhatItIsCreatedWith() {
        withSeed { random in
            for count in 0..<40 {
                let numbers = (0..<count).map { _ in Int.random(in: 0..<20, using: &random) }
                var heap = Heap(numbers)
                #expect(numbers.sorted() == numbers.compactMap { _ in heap.popMin() })
                #expect(heap.popMin() == nil)
            }
        }
    }
}
