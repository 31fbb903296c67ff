/** Maps items, a limited number at a time; the results are in the order of the items. */
export async function mapInLanes<Item, Result>(
  items: Iterable<Item>,
  lanes: number,
  act: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  const remainingItems = Array.from(items).entries();
  const runLane = async (): Promise<void> => {
    for (const [index, item] of remainingItems) results[index] = await act(item);
  };
  await Promise.all(Array.from({ length: lanes }, runLane));
  return results;
}
