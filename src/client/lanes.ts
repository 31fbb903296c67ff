export async function mapInLanes<Item, Result>(
  items: Iterable<Item>,
  laneCount: number,
  act: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const remainingItems = Array.from(items).entries();
  const runLane = async (): Promise<void> => {
    for (const [index, item] of remainingItems) results[index] = await act(item);
  };
  await Promise.all(Array.from({ length: laneCount }, runLane));
  return results;
}
